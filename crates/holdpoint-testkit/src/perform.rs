//! Performs the steps of a scenario through the public entry points, and keeps what they gave.

use std::sync::Arc;

use holdpoint::{
    Actor, Agent, Context, Decisions, Error, ExportOptions, Failpoint, Results, ResumeFrom, RunRequest, RunResult,
    RunStream, Segment, StreamEvent,
};
use holdpoint_codec::continuation;
use holdpoint_codec::imported_run;
use holdpoint_core::{Code, Revision};
use serde_json::{Map, Value};

use crate::error::Problem;
use crate::observed::SeenError;
use crate::payload::{self, Change};
use crate::scenario::{
    Action, CrashPoint, EditSpec, Entry, Forget, Names, PersonSpec, ResumeKind, ResumeSpec, RunSpec, SaveSpec,
};
use crate::world::{Latest, Saved, World, new_run_id, policy};

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
            Err(error) => Self::failed(&error),
        }
    }

    fn failed(error: &Error) -> Self {
        Self::from(seen(error))
    }
}

impl From<SeenError> for Outcome {
    fn from(error: SeenError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }
}

/// An error of the library, as a step reports it.
fn seen(error: &Error) -> SeenError {
    SeenError { code: error.code().as_str().to_owned(), message: error.to_string() }
}

/// What a step names is not there.
fn not_found(what: &str) -> SeenError {
    SeenError { code: Code::ContinuationNotFound.as_str().to_owned(), message: what.to_owned() }
}

impl World {
    pub(crate) async fn perform(&mut self, action: &Action) -> Result<Outcome, Problem> {
        Ok(match action {
            Action::Run(spec) => self.run(spec).await?,
            Action::Resume(spec) => self.resume(spec).await?,
            Action::Race { n, resume } => self.race(*n, resume).await,
            Action::Save(spec) => self.save(spec).await,
            Action::Edit(spec) => self.edit(spec),
            Action::Policy(spec) => {
                self.policy = policy(spec)?;
                self.rebuild();
                Outcome::default()
            }
            Action::Tools(tools) => {
                self.tools.clone_from(tools);
                self.rebuild();
                Outcome::default()
            }
            Action::Clock { advance_ms } => {
                self.clock.advance_ms(*advance_ms);
                Outcome::default()
            }
            Action::Crash(Some(point)) => {
                self.armed = Some(*point);
                Outcome::default()
            }
            Action::Crash(None) => self.crash().await?,
            Action::Cancel => self.cancel().await,
            Action::Retry => self.retry().await?,
        })
    }

    async fn run(&mut self, spec: &RunSpec) -> Result<Outcome, Problem> {
        let agent = match self.agent().await {
            Ok(agent) => agent,
            Err(error) => return Ok(Outcome::failed(&error)),
        };
        let id = new_run_id();
        let request = request(spec).with_run_id(id.clone());
        self.arm(&agent);
        let driven = Driven::of(agent.chat(request), spec.entry).await;
        // A run that could not be started leaves what was there.
        if driven.result.is_ok() || driven.crashed() {
            self.run = Some(id);
        }
        self.settled(driven).await
    }

    async fn resume(&mut self, spec: &ResumeSpec) -> Result<Outcome, Problem> {
        let agent = match self.agent().await {
            Ok(agent) => agent,
            Err(error) => return Ok(Outcome::failed(&error)),
        };
        let segment = self.source(spec).and_then(|from| resume(&agent, from, spec).map_err(|error| seen(&error)));
        let segment = match segment {
            Ok(segment) => segment,
            Err(error) => return Ok(error.into()),
        };
        self.arm(&agent);
        let driven = Driven::of(segment, spec.entry).await;
        self.settled(driven).await
    }

    /// What a resume resumes.
    fn source(&self, spec: &ResumeSpec) -> Result<ResumeFrom, SeenError> {
        let saved = |name: &str| match self.saved.get(name) {
            Some(saved) => Ok(ResumeFrom::Json(saved.payload.clone())),
            None => Err(not_found("nothing was saved under this name")),
        };
        let pause = match (&spec.from, &self.latest) {
            (Some(name), _) | (None, Latest::Saved(name)) => saved(name)?,
            (None, Latest::Object(result)) => ResumeFrom::from(&**result),
            (None, Latest::None) => return Err(not_found("there is no run yet")),
        };
        Ok(match spec.names {
            Names::Continuation => pause,
            Names::Batch => pause.by_batch(),
        })
    }

    async fn race(&mut self, n: u32, spec: &ResumeSpec) -> Outcome {
        let agent = match self.agent().await {
            Ok(agent) => agent,
            Err(error) => return Outcome::failed(&error),
        };
        let from = match self.source(spec) {
            Ok(from) => from,
            Err(error) => return error.into(),
        };
        let start = Arc::new(tokio::sync::Barrier::new(n as usize));
        let runners: Vec<_> = (0..n)
            .map(|_| {
                let (start, entry) = (Arc::clone(&start), spec.entry);
                let segment = resume(&agent, from.clone(), spec);
                tokio::spawn(async move {
                    start.wait().await;
                    match segment {
                        Ok(segment) => Driven::of(segment, entry).await,
                        Err(error) => Driven::plain(Err(error)),
                    }
                })
            })
            .collect();
        let mut outcome = Outcome { won: Some(0), ..Outcome::default() };
        for runner in runners {
            let Ok(driven) = runner.await else { continue };
            match driven.result {
                Ok(result) => {
                    outcome.won = outcome.won.map(|won| won + 1);
                    self.latest = Latest::Object(Box::new(result.clone()));
                    outcome.result = Some(result);
                }
                Err(error) => outcome.error = outcome.error.take().or_else(|| Some(seen(&error))),
            }
        }
        outcome
    }

    /// Keeps what a segment gave. If the process died on the way, another one recovers the run.
    async fn settled(&mut self, driven: Driven) -> Result<Outcome, Problem> {
        if self.armed.take().is_some() {
            // What did not fire in this step is not armed in the next.
            self.rebuild();
        }
        let streamed = driven.streamed.clone();
        let outcome = if driven.crashed() { self.crash().await? } else { Outcome::of(driven.result) };
        if let Some(result) = &outcome.result {
            self.latest = Latest::Object(Box::new(result.clone()));
        }
        Ok(Outcome { streamed, ..outcome })
    }

    async fn crash(&mut self) -> Result<Outcome, Problem> {
        self.die()?;
        let outcome = match (self.agent().await, self.run.clone()) {
            (Ok(agent), Some(run)) => Outcome::of(agent.runner().recover(&run).await),
            (Ok(_), None) => Outcome::default(),
            (Err(error), _) => Outcome::failed(&error),
        };
        if let Some(result) = &outcome.result {
            self.latest = Latest::Object(Box::new(result.clone()));
        }
        Ok(Outcome { recovered: true, ..outcome })
    }

    async fn cancel(&mut self) -> Outcome {
        match (self.agent().await, self.run.clone()) {
            (Ok(agent), Some(run)) => Outcome::of(agent.runner().cancel(&run, Actor::default()).await),
            (Ok(_), None) => not_found("there is no run yet").into(),
            (Err(error), _) => Outcome::failed(&error),
        }
    }

    async fn retry(&mut self) -> Result<Outcome, Problem> {
        match (self.agent().await, self.run.clone()) {
            (Ok(agent), Some(run)) => {
                self.arm(&agent);
                let driven = Driven::plain(agent.retry(&run).await);
                self.settled(driven).await
            }
            (Ok(_), None) => Ok(not_found("there is no run yet").into()),
            (Err(error), _) => Ok(Outcome::failed(&error)),
        }
    }

    fn arm(&self, agent: &Agent) {
        match self.armed {
            Some(CrashPoint::AfterIntent) => agent.runner().arm(Failpoint::AfterIntent),
            Some(CrashPoint::AfterEffect) => agent.runner().arm(Failpoint::AfterEffect),
            None => {}
        }
    }

    async fn save(&mut self, spec: &SaveSpec) -> Outcome {
        let payload = match self.dump(spec).await {
            Ok(payload) => payload,
            Err(error) => return error.into(),
        };
        let parsed: Value = serde_json::from_str(&payload).unwrap_or(Value::Null);
        let continuation = parsed.get("continuation_id").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.saved.insert(spec.name.clone(), Saved { payload: payload.clone(), continuation });
        self.latest = Latest::Saved(spec.name.clone());
        match spec.forget {
            Forget::Objects => self.rebuild(),
            Forget::Store => {
                if let Err(error) = self.forget_store().await {
                    return Outcome::failed(&error);
                }
            }
        }
        Outcome { payload: Some(payload), ..Outcome::default() }
    }

    async fn dump(&mut self, spec: &SaveSpec) -> Result<String, SeenError> {
        let not_paused = || not_found("the run is not paused");
        match self.latest.clone() {
            Latest::None => Err(not_paused()),
            Latest::Object(result) => {
                let continuation = result.continuation().ok_or_else(not_paused)?;
                let options = ExportOptions { context_keys: spec.context_keys.clone(), ..ExportOptions::default() };
                let agent = self.agent().await.map_err(|error| seen(&error))?;
                agent.runner().export(&continuation, &options).map_err(|error| seen(&error))
            }
            Latest::Saved(name) => self.dump_again(&name, spec),
        }
    }

    /// The objects are forgotten: what is dumped is what the payload holds.
    fn dump_again(&self, name: &str, spec: &SaveSpec) -> Result<String, SeenError> {
        let failed = |error| seen(&Error::from(error));
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

    fn edit(&mut self, spec: &EditSpec) -> Outcome {
        let Some(saved) = self.saved.get_mut(&spec.of) else {
            return not_found("nothing was saved under this name").into();
        };
        let change = spec.value.as_deref().map_or(Change::Remove, Change::Set);
        match payload::edited(&saved.payload, &spec.pointer, change) {
            Ok(edited) => {
                saved.payload = edited;
                Outcome::default()
            }
            Err(problem) => {
                SeenError { code: "invalid_edit".to_owned(), message: format!("`{}`: {problem}", spec.pointer) }.into()
            }
        }
    }
}

/// The resume that a step asks for. The library reads decisions and results: what is none of them is for it to reject.
fn resume(agent: &Agent, from: ResumeFrom, spec: &ResumeSpec) -> Result<Segment, Error> {
    let entries: Map<String, Value> = spec.entries.iter().map(|(call, node)| (call.clone(), node.to_value())).collect();
    let entries = Value::Object(entries);
    let segment = match spec.kind {
        ResumeKind::Answer => {
            let decisions = Decisions::from_json(&entries)?;
            let decisions = match &spec.by {
                Some(person) => decisions.by(actor(person)),
                None => decisions,
            };
            agent.resume(from, if spec.partial { decisions.partial() } else { decisions })
        }
        ResumeKind::Results => {
            let results = Results::from_json(&entries)?;
            agent.resume_with_tool_results(from, if spec.partial { results.partial() } else { results })
        }
    };
    Ok(segment.with_context(context(&spec.context)))
}

/// How a segment ended, with what it streamed.
struct Driven {
    result: Result<RunResult, Error>,
    streamed: Option<(Vec<String>, Revision)>,
}

impl Driven {
    fn plain(result: Result<RunResult, Error>) -> Self {
        Self { result, streamed: None }
    }

    async fn of(segment: Segment, entry: Entry) -> Self {
        match entry {
            Entry::Plain => Self::plain(segment.await),
            Entry::Stream => Self::streamed(segment.stream()).await,
        }
    }

    async fn streamed(mut stream: RunStream) -> Self {
        let (mut names, mut last) = (Vec::new(), Revision(0));
        while let Some(event) = stream.next().await {
            names.push(event.name().to_owned());
            if let StreamEvent::Durable(durable) = &event {
                last = durable.seq;
            }
        }
        Self { result: stream.result().await, streamed: Some((names, last)) }
    }

    fn crashed(&self) -> bool {
        matches!(self.result, Err(Error::FailpointReached))
    }
}

fn context(attributes: &[(String, Value)]) -> Context {
    attributes.iter().fold(Context::new(), |context, (name, value)| context.with(name.as_str(), value.clone()))
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
