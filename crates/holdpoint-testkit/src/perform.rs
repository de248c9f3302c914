//! Performs the steps of a scenario through the public entry points, and keeps what they gave.

use std::sync::Arc;

use holdpoint::{
    Actor, Agent, Context, Decisions, Error, ExportOptions, Results, ResumeFrom, RunId, RunRequest, RunResult,
    RunStream, Segment, StreamEvent,
};
use holdpoint_codec::continuation;
use holdpoint_codec::imported_run;
use holdpoint_config::{Flatten, Named};
use holdpoint_core::{Code, Revision};
use serde_json::Value;

use crate::death::Death;
use crate::observed::SeenError;
use crate::payload::{self, Change};
use crate::scenario::{Action, Answers, EditSpec, Json, Names, PersonSpec, Resume, RunSpec, SaveSpec};
use crate::world::{Latest, Saved, World, new_run_id};

/// What a step gave.
#[derive(Default)]
pub(crate) struct Outcome {
    /// The result, if the step drove the run.
    pub(crate) result: Option<RunResult>,
    /// The error, if it gave one.
    pub(crate) error: Option<SeenError>,
    /// The names of the events that were streamed, with the number of the last durable one.
    pub(crate) streamed: Option<(Vec<String>, Revision)>,
    /// The dumped payload.
    pub(crate) payload: Option<String>,
    /// How many of a race succeeded.
    pub(crate) won: Option<u64>,
    /// Whether the process died on the way and the run was recovered.
    pub(crate) recovered: bool,
}

impl Outcome {
    fn of(result: Result<RunResult, Error>) -> Self {
        match result {
            Ok(result) => Self { result: Some(result), ..Self::default() },
            Err(error) => SeenError::from(error).into(),
        }
    }
}

impl From<SeenError> for Outcome {
    fn from(error: SeenError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// An error of the library, as a step reports it.
impl From<Error> for SeenError {
    fn from(error: Error) -> Self {
        Self { code: error.code().as_str().to_owned(), message: error.to_string() }
    }
}

/// What a step names is not there.
fn not_found(what: &str) -> SeenError {
    SeenError { code: Code::ContinuationNotFound.as_str().to_owned(), message: what.to_owned() }
}

impl World {
    pub(crate) async fn perform(&mut self, action: &Action) -> Outcome {
        self.act(action).await.unwrap_or_else(Outcome::from)
    }

    async fn act(&mut self, action: &Action) -> Result<Outcome, SeenError> {
        match action {
            Action::Run(spec) => return self.run(spec).await,
            Action::Answer(spec) => return self.resume(&Resume::Answer(spec.clone())).await,
            Action::Results(spec) => return self.resume(&Resume::Results(spec.clone())).await,
            Action::Race(Flatten(runners, resume)) => return self.race(runners.n, resume).await,
            Action::Save(spec) => return self.save(spec).await,
            Action::Edit(spec) => self.edit(spec)?,
            Action::Policy(spec) => {
                self.policy.clone_from(&spec.policy);
                self.rebuild();
            }
            Action::Tools(tools) => {
                self.tools.clone_from(tools);
                self.rebuild();
            }
            Action::Clock(spec) => {
                self.clock.advance_ms(spec.advance_ms);
            }
            Action::Crash(spec) if spec.after.is_some() => self.armed = spec.after,
            Action::Crash(_) => return Ok(self.crash().await),
            Action::Cancel(_) => {
                let (agent, run) = (self.agent().await?, self.started()?);
                return Ok(Outcome::of(agent.runner().cancel(&run, Actor::default()).await));
            }
            Action::Retry(_) => {
                let (agent, run) = (self.agent().await?, self.started()?);
                let driven = self.drive(agent.retry(&run), false).await;
                return Ok(self.settled(driven).await);
            }
        }
        Ok(Outcome::default())
    }

    fn started(&self) -> Result<RunId, SeenError> {
        self.run.clone().ok_or_else(|| not_found("there is no run yet"))
    }

    async fn run(&mut self, spec: &RunSpec) -> Result<Outcome, SeenError> {
        let agent = self.agent().await?;
        let id = new_run_id();
        let request = request(spec).with_run_id(id.clone());
        let driven = self.drive(agent.chat(request), spec.stream).await;
        // A run that could not be started leaves what was there.
        if !matches!(driven.result, Some(Err(_))) {
            self.run = Some(id);
        }
        Ok(self.settled(driven).await)
    }

    async fn resume(&mut self, spec: &Resume) -> Result<Outcome, SeenError> {
        let agent = self.agent().await?;
        let segment = resume(&agent, self.source(spec)?, spec)?;
        let driven = self.drive(segment, spec.resuming().stream).await;
        Ok(self.settled(driven).await)
    }

    /// What a resume resumes.
    fn source(&self, spec: &Resume) -> Result<ResumeFrom, SeenError> {
        let pause = match (&spec.resuming().from, &self.latest) {
            (Some(name), _) | (None, Latest::Saved(name)) => match self.saved.get(name) {
                Some(saved) => ResumeFrom::Json(saved.payload.clone()),
                None => return Err(not_found("nothing was saved under this name")),
            },
            (None, Latest::Object(result)) => ResumeFrom::from(&**result),
            (None, Latest::None) => return Err(not_found("there is no run yet")),
        };
        Ok(match spec {
            Resume::Answer(Flatten(Answers { names: Names::Batch, .. }, _)) => pause.by_batch(),
            Resume::Answer(_) | Resume::Results(_) => pause,
        })
    }

    async fn race(&mut self, n: u32, spec: &Resume) -> Result<Outcome, SeenError> {
        let (agent, from) = (self.agent().await?, self.source(spec)?);
        let start = Arc::new(tokio::sync::Barrier::new(n as usize));
        let runners: Vec<_> = (0..n)
            .map(|_| {
                let (start, stream, death) = (Arc::clone(&start), spec.resuming().stream, self.death.clone());
                let segment = resume(&agent, from.clone(), spec);
                tokio::spawn(async move {
                    start.wait().await;
                    match segment {
                        Ok(segment) => Driven::of(segment, stream, &death).await.result,
                        Err(error) => Some(Err(error)),
                    }
                })
            })
            .collect();
        let mut outcome = Outcome { won: Some(0), ..Outcome::default() };
        for runner in runners {
            let Ok(Some(result)) = runner.await else { continue };
            match result {
                Ok(result) => {
                    outcome.won = outcome.won.map(|won| won + 1);
                    self.latest = Latest::Object(Box::new(result.clone()));
                    outcome.result = Some(result);
                }
                Err(error) => outcome.error = outcome.error.take().or_else(|| Some(error.into())),
            }
        }
        Ok(outcome)
    }

    /// Keeps what a segment gave. If the process died on the way, another one recovers the run.
    async fn settled(&mut self, driven: Driven) -> Outcome {
        let Driven { result, streamed } = driven;
        let outcome = match result {
            Some(result) => Outcome::of(result),
            None => self.crash().await,
        };
        if let Some(result) = &outcome.result {
            self.latest = Latest::Object(Box::new(result.clone()));
        }
        Outcome { streamed, ..outcome }
    }

    async fn crash(&mut self) -> Outcome {
        self.die();
        let outcome = match (self.agent().await, self.run.clone()) {
            (Ok(agent), Some(run)) => Outcome::of(agent.runner().recover(&run).await),
            (Ok(_), None) => Outcome::default(),
            (Err(error), _) => SeenError::from(error).into(),
        };
        if let Some(result) = &outcome.result {
            self.latest = Latest::Object(Box::new(result.clone()));
        }
        Outcome { recovered: true, ..outcome }
    }

    /// Drives a segment, to its end or to the point at which the process is to die.
    async fn drive(&mut self, segment: Segment, stream: bool) -> Driven {
        self.death.arm(self.armed.take());
        let driven = Driven::of(segment, stream, &self.death).await;
        // A point that this step did not get to is not armed in the next.
        self.death.arm(None);
        driven
    }

    async fn save(&mut self, spec: &SaveSpec) -> Result<Outcome, SeenError> {
        let payload = self.dump(spec).await?;
        let parsed: Value = serde_json::from_str(&payload).unwrap_or(Value::Null);
        let continuation = parsed.get("continuation_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.saved.insert(spec.name.clone(), Saved { payload: payload.clone(), continuation });
        self.latest = Latest::Saved(spec.name.clone());
        self.rebuild();
        if spec.fresh {
            self.forget_store().await?;
        }
        Ok(Outcome { payload: Some(payload), ..Outcome::default() })
    }

    async fn dump(&mut self, spec: &SaveSpec) -> Result<String, SeenError> {
        let not_paused = || not_found("the run is not paused");
        match self.latest.clone() {
            Latest::None => Err(not_paused()),
            Latest::Object(result) => {
                let continuation = result.continuation().ok_or_else(not_paused)?;
                let options = match &spec.context_keys {
                    Some(keys) => ExportOptions::default().context_keys(keys.iter().map(String::as_str)),
                    None => ExportOptions::default(),
                };
                Ok(self.agent().await?.runner().export(&continuation, &options)?)
            }
            Latest::Saved(name) => self.dump_again(&name, spec),
        }
    }

    /// The objects are forgotten: what is dumped is what the payload holds.
    fn dump_again(&self, name: &str, spec: &SaveSpec) -> Result<String, SeenError> {
        let failed = |error| SeenError::from(Error::from(error));
        let payload = self.saved.get(name).map_or("", |saved| &saved.payload);
        let options =
            continuation::LoadOptions { keys: std::slice::from_ref(&self.key), ..continuation::LoadOptions::default() };
        let loaded = continuation::load(payload.as_bytes(), &options).map_err(failed)?;
        let run = imported_run(loaded.run_id.clone(), Arc::new(loaded.snapshot));
        let keys = spec.context_keys.as_ref().map(|keys| keys.iter().map(|key| key.as_str().into()).collect());
        let options = continuation::DumpOptions {
            context: Some(&loaded.context),
            context_keys: keys.as_ref(),
            key: Some(&self.key),
            ..continuation::DumpOptions::default()
        };
        continuation::dump(&run, &options).map_err(failed)
    }

    fn edit(&mut self, spec: &EditSpec) -> Result<(), SeenError> {
        let saved = self.saved.get_mut(&spec.of).ok_or_else(|| not_found("nothing was saved under this name"))?;
        let change = spec.value.as_ref().map_or(Change::Remove, |value| Change::Set(&value.0));
        let pointer = &spec.path.0;
        let failed =
            |problem| SeenError { code: "invalid_edit".to_owned(), message: format!("`{pointer}`: {problem}") };
        saved.payload = payload::edited(&saved.payload, pointer, change).map_err(failed)?;
        Ok(())
    }
}

/// The resume that a step asks for. The library reads decisions and results: what is none of them is for it to reject.
fn resume(agent: &Agent, from: ResumeFrom, spec: &Resume) -> Result<Segment, Error> {
    let resuming = spec.resuming();
    let segment = match spec {
        Resume::Answer(Flatten(answers, _)) => {
            let decisions = Decisions::from_json(&object(&answers.decisions))?;
            let decisions = match &answers.by {
                Some(person) => decisions.by(actor(person)),
                None => decisions,
            };
            agent.resume(from, if resuming.partial { decisions.partial() } else { decisions })
        }
        Resume::Results(Flatten(supplied, _)) => {
            let results = Results::from_json(&object(&supplied.results))?;
            agent.resume_with_tool_results(from, if resuming.partial { results.partial() } else { results })
        }
    };
    Ok(segment.with_context(context(&resuming.context)))
}

fn object(Named(entries): &Named<Json>) -> Value {
    entries.iter().map(|(key, value)| (key.clone(), value.0.clone())).collect()
}

/// How a segment ended, with what it streamed.
struct Driven {
    /// `None` if the process died on the way.
    result: Option<Result<RunResult, Error>>,
    streamed: Option<(Vec<String>, Revision)>,
}

impl Driven {
    async fn of(segment: Segment, stream: bool, death: &Death) -> Self {
        if stream {
            return Self::streamed(segment.stream(), death).await;
        }
        let result = tokio::select! {
            biased;
            result = segment => Some(result),
            () = death.happened() => None,
        };
        Self { result, streamed: None }
    }

    async fn streamed(mut stream: RunStream, death: &Death) -> Self {
        let (mut names, mut last) = (Vec::new(), Revision(0));
        let died = loop {
            let event = tokio::select! {
                biased;
                event = stream.next() => event,
                () = death.happened() => break true,
            };
            let Some(event) = event else { break false };
            names.push(event.name().to_owned());
            if let StreamEvent::Durable(durable) = &event {
                last = durable.seq();
            }
        };
        let result = if died {
            stream.abort().await;
            None
        } else {
            Some(stream.result().await)
        };
        Self { result, streamed: Some((names, last)) }
    }
}

fn context(Named(attributes): &Named<Json>) -> Context {
    attributes.iter().fold(Context::new(), |context, (name, value)| context.with(name.as_str(), value.0.clone()))
}

fn request(spec: &RunSpec) -> RunRequest {
    let mut request = RunRequest::new(spec.input.as_str()).with_context(context(&spec.context));
    if let Some(person) = &spec.by {
        request = request.by(actor(person));
    }
    if let Some(session) = &spec.session {
        request = request.in_session(session.as_str());
    }
    request
}

fn actor(person: &PersonSpec) -> Actor {
    Actor {
        id: person.id.as_deref().map(Into::into),
        roles: person.roles.iter().map(|role| role.as_str().into()).collect(),
        tenant: person.tenant.as_deref().map(Into::into),
    }
}
