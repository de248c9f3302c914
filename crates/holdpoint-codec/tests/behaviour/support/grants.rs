//! A run in which people say more than yes, and tools change.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::new_run;
use holdpoint_core::*;

use super::{Telling, arguments, inputs, person};

/// The story of a run with grants.
pub(crate) struct GrantStory {
    /// Paused for people who are asked again, with a call that is out.
    pub(crate) again: Run,
    /// What people said about calls that are yet to come.
    pub(crate) grants: Vec<Arc<Grant>>,
    /// Everything that happened, a step each, with the run after it.
    pub(crate) steps: Vec<(Vec<LogEntry>, Run)>,
}

impl GrantStory {
    pub(crate) fn log(&self) -> impl Iterator<Item = &LogEntry> {
        self.steps.iter().flat_map(|(events, _)| events)
    }
}

/// Tells the story.
pub(crate) fn grant_story() -> GrantStory {
    let mut steps = Steps::new();
    steps.tell(started());
    steps.tell(reply(r#"{"amount":250}"#));
    let mut paused = steps.tell(authorized(Vec::new(), Shadows::Beside));
    let edited = Answer::ApproveEdited(arguments("pay", r#"{"amount":100}"#));
    let until = Some(Timestamp(1_700_000_900_000_000));
    let these = Remember { covers: Covers::TheseArguments, reach: Reach::Session, until };
    paused = steps.tell(answer(
        &paused,
        "ana",
        "pay",
        GivenAnswer { remember: Some(these), ..GivenAnswer::new(edited, None) },
    ));
    let any = Remember { covers: Covers::AnyArguments, reach: Reach::Run, until: None };
    paused = steps.tell(answer(
        &paused,
        "bo",
        "pay",
        GivenAnswer { remember: Some(any.clone()), ..GivenAnswer::new(Answer::Approve, None) },
    ));
    let everywhere = Remember { reach: Reach::Tenant, ..any };
    steps.tell(answer(
        &paused,
        "ana",
        "mail",
        GivenAnswer { remember: Some(everywhere), ..GivenAnswer::new(Answer::Approve, None) },
    ));
    for call in [CallIndex(0), CallIndex(1)] {
        steps.tell(Input::Began(Began { call, recheck: None, after: None }));
        steps.tell(inputs::returned(call.0));
    }
    steps.tell(reply(r#"{"amount":100}"#));
    let given = steps.grants();
    steps.tell(authorized(given.clone(), Shadows::None));
    steps.tell(Input::Deferred(Deferred { call: CallIndex(1), recheck: None }));
    let again = steps.tell(changed(0, None, Refit::Decided(Decision::allow().by_policy(Some("policy-3".into())))));
    steps.tell(Input::GrantRevoked(GrantRevoked { grant: given[0].id.clone(), actor: person("cleo") }));
    let problem = Problem { code: Code::InvalidArguments, text: "the tool has changed".into() };
    let paused = steps.tell(changed(1, Some((Turn(2), Attempt(1))), Refit::Unfit(problem)));
    steps.tell(answer(
        &paused,
        "ana",
        "pay",
        GivenAnswer { remember: None, ..GivenAnswer::new(Answer::Refuse { reason: None }, None) },
    ));
    steps.tell(inputs::said("Done.", ModelStop::EndTurn));
    GrantStory { again, grants: given, steps: steps.told }
}

struct Steps {
    telling: Telling,
    told: Vec<(Vec<LogEntry>, Run)>,
}

impl Steps {
    fn new() -> Self {
        let run = new_run(RunId::new("run-3"));
        let telling = Telling { run, log: Vec::new(), now: Timestamp(1_700_000_000_000_000) };
        Self { telling, told: Vec::new() }
    }

    /// Tells the run something. Returns the run after it.
    fn tell(&mut self, input: Input) -> Run {
        self.telling.tell(input);
        self.told.push((std::mem::take(&mut self.telling.log), self.telling.run.clone()));
        self.telling.run.clone()
    }

    fn grants(&self) -> Vec<Arc<Grant>> {
        let events = self.told.iter().flat_map(|(events, _)| events);
        let given = events.filter_map(|entry| match &entry.event {
            Event::GrantGiven { grant, .. } => Some(Arc::clone(grant)),
            _ => None,
        });
        given.collect()
    }
}

fn started() -> Input {
    let Input::Started(mut started) = inputs::started() else { unreachable!("it is how the other story begins") };
    started.session = Some("talk-7".into());
    Input::Started(started)
}

fn facts(name: &str, definition: &str) -> ToolFacts {
    ToolFacts { name: name.into(), repeat: Repeat::Never, source: "native".into(), definition: Some(definition.into()) }
}

fn reply(amount: &str) -> Input {
    let call = |name: &str, text: &str| ProposedCall {
        provider_id: Some(name.into()),
        name: name.into(),
        tool: Some(facts(name, "definition-1")),
        arguments: CallArguments::Canonical(arguments(name, text)),
        problem: None,
    };
    let calls = vec![call("pay", amount), call("mail", r#"{"to":"ana"}"#)];
    let usage = Usage { input: 50, output: 5, ..Usage::default() };
    let reply = Reply { text: "".into(), thinking: None, calls, usage, stop: ModelStop::ToolUse, provider_state: None };
    Input::Replied(Box::new(Replied { reply: Some(reply), latency_us: 700 }))
}

fn ground(rule: &str, policy: &str) -> Ground {
    Ground { reason: Some("money leaves the house".into()), rule: Some(rule.into()), policy: Some(policy.into()) }
}

fn terms() -> Terms {
    let approvers = BTreeSet::from(["finance".into()]);
    Terms { approvers, quorum: 2, expires_in_ms: Some(3_600_000), four_eyes: FourEyes::On }
}

/// Whether another policy is tried beside the one that decides.
enum Shadows {
    Beside,
    None,
}

fn authorized(grants: Vec<Arc<Grant>>, beside: Shadows) -> Input {
    let mail = Ground { policy: Some("policy-1".into()), ..Ground::reason("mail leaves the house") };
    let decisions = vec![
        (CallIndex(0), Decision::Confirm(ground("rule 1", "policy-1"), terms())),
        (CallIndex(1), Decision::Confirm(mail, Terms::default())),
    ];
    let shadows = match beside {
        Shadows::Beside => vec![
            (CallIndex(0), Decision::Deny(ground("rule 9", "policy-2"))),
            (CallIndex(1), Decision::allow().by_policy(Some("policy-2".into()))),
        ],
        Shadows::None => Vec::new(),
    };
    Input::Authorized(Authorized { decisions, shadows, grants })
}

fn answer(run: &Run, who: &str, call: &str, given: GivenAnswer) -> Input {
    let confirm = || Decision::Confirm(ground("rule 1", "policy-1"), terms());
    let decision = matches!(given.answer, Answer::ApproveEdited(_)).then(confirm);
    let target = Target::Continuation(run.continuation().expect("it is paused"));
    Input::Answered(Box::new(Answered {
        target,
        actor: person(who),
        answers: vec![(call.into(), GivenAnswer { decision, ..given })],
        missing: Missing::Wait,
        context: Attributes::new(),
        request: None,
    }))
}

fn changed(call: u32, task: Option<(Turn, Attempt)>, refit: Refit) -> Input {
    let tool = facts(if call == 0 { "pay" } else { "mail" }, "definition-2");
    Input::ToolChanged(Box::new(ToolChanged { call: CallIndex(call), task, tool, refit }))
}

/// Grants of every kind.
pub(crate) fn grants() -> Vec<(&'static str, Grant)> {
    let whole = (*grant_story().grants[0]).clone();
    let bare = Grant {
        agent: None,
        id: GrantId::of(&RunId::new("run-9"), 12),
        tool: "refund".into(),
        definition: None,
        digest: None,
        scope: GrantScope::Run(RunId::new("run-9")),
        until: None,
        actor: Actor::default(),
        tenant: None,
        at: Timestamp(-1),
    };
    vec![
        ("grant-session.json", whole.clone()),
        ("grant-run.json", bare.clone()),
        ("grant-tenant.json", Grant { scope: GrantScope::Tenant, until: Some(Timestamp(5)), ..bare }),
    ]
}
