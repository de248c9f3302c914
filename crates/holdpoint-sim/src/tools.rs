//! The tools of the simulated world, the policy over them, and the people who answer its questions.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::{arguments_for, parse_arguments};
use holdpoint_core::{
    Actor, Arguments, CallArguments, Code, Covers, Decision, FourEyes, Ground, Problem, ProposedCall, Reach, Remember,
    Repeat, RequestedName, Terms, Timestamp, ToolFacts, ToolName, ToolResult,
};

use crate::random::Random;

/// Stands in every argument, result and context value, and may stand in nothing that people who operate the system
/// read.
pub(crate) const CANARY: &str = "CANARY";

/// The registered names, and whether each may be repeated.
pub(crate) const REGISTERED: [(&str, Repeat); 6] = [
    ("read_page", Repeat::Safe),
    ("files_list", Repeat::Safe),
    ("refund", Repeat::Never),
    ("mail_send", Repeat::WithKey),
    ("deploy_now", Repeat::Never),
    ("crunch", Repeat::Never),
];

/// What models write: registered names, two that resolve by their dots, and one that is nobody's.
const WRITTEN: [&str; 9] = [
    "read_page",
    "files_list",
    "files.list",
    "refund",
    "refund",
    "mail_send",
    "deploy.now",
    "crunch",
    "nobody_has_this",
];

pub(crate) fn repeat_of(tool: &ToolName) -> Option<Repeat> {
    REGISTERED.iter().find(|(name, _)| *name == tool.as_str()).map(|(_, repeat)| *repeat)
}

pub(crate) fn resolve(name: &str) -> Option<ToolFacts> {
    let known = |wanted: &str| REGISTERED.iter().find(|(name, _)| *name == wanted);
    let (name, repeat) = known(name).or_else(|| known(&name.replace('.', "_")))?;
    let source = if *name == "crunch" { "worker" } else { "native" };
    Some(ToolFacts { name: ToolName::new(*name), repeat: *repeat, source: source.into(), definition: None })
}

/// Arguments by their number. Those of most calls no other call has.
pub(crate) fn arguments(tool: &str, serial: u64) -> Arguments {
    let text = format!("{{\"serial\":{serial},\"note\":\"{CANARY}-A\"}}");
    let text = parse_arguments(Some(&text)).expect("it is a small object");
    arguments_for(tool, &text)
}

/// A call as the driver understands what the model wrote.
pub(crate) fn proposed(random: &mut Random, serial: u64) -> ProposedCall {
    let name = *random.pick(&WRITTEN);
    let tool = resolve(name);
    let digested = tool.as_ref().map_or(name, |facts| facts.name.as_str()).to_owned();
    let (arguments, problem) = match random.weighted(&[88, 8, 4]) {
        // Models repeat themselves.
        0 if random.percent(30) => (CallArguments::Canonical(arguments(&digested, random.below(2) as u64)), None),
        0 => (CallArguments::Canonical(arguments(&digested, serial)), None),
        1 => (CallArguments::Unusable(format!("[{CANARY}-A").into()), Some(Code::InvalidArguments)),
        _ => (CallArguments::Dropped { len_bytes: 200_001 }, Some(Code::ArgumentsTooLarge)),
    };
    let problem = problem.or(if tool.is_none() { Some(Code::ToolNotFound) } else { None });
    let problem = problem.map(|code| Problem { code, text: code.as_str().into() });
    let provider_id: Option<Arc<str>> = match random.weighted(&[60, 10, 10, 10, 10]) {
        0 => Some(format!("call_{serial}").into()),
        1 => None,
        2 => Some("  ".into()),
        3 => Some("same".into()),
        _ => Some("tc_2".into()),
    };
    ProposedCall { provider_id, name: RequestedName::new(name), tool, arguments, problem }
}

/// The call that a model makes over and over.
pub(crate) fn usual(random: &mut Random, serial: u64) -> ProposedCall {
    let name = "refund";
    let serial = if random.percent(60) { random.below(2) as u64 } else { serial };
    let arguments = CallArguments::Canonical(arguments(name, serial));
    ProposedCall { provider_id: None, name: RequestedName::new(name), tool: resolve(name), arguments, problem: None }
}

/// Who may be asked. The last one is nobody in particular.
pub(crate) const PEOPLE: [(Option<&str>, &[&str]); 6] = [
    (Some("ann"), &["ops"]),
    (Some("bob"), &["ops", "money"]),
    (Some("cyd"), &["money"]),
    (Some("dan"), &[]),
    (Some("eve"), &["ops"]),
    (None, &[]),
];

pub(crate) fn person(place: usize) -> Actor {
    let (name, roles) = PEOPLE[place % PEOPLE.len()];
    Actor { id: name.map(Into::into), roles: roles.iter().map(|role| (*role).into()).collect(), tenant: None }
}

fn terms(random: &mut Random) -> Terms {
    let role = |name: &str| BTreeSet::from([name.into()]);
    let four_eyes = if random.percent(25) { FourEyes::On } else { FourEyes::Off };
    // One of those who may answer may have started the run.
    let (approvers, quorum_max) = match (random.weighted(&[40, 40, 20]), four_eyes) {
        (0, _) => (BTreeSet::new(), 3),
        (1, FourEyes::Off) => (role("ops"), 3),
        (1, FourEyes::On) => (role("ops"), 2),
        (_, FourEyes::Off) => (role("money"), 2),
        (_, FourEyes::On) => (role("money"), 1),
    };
    let quorum = if random.percent(50) { 1 + random.below(quorum_max) } else { 1 };
    let expires_in_ms = random.percent(30).then_some(60_000);
    Terms { approvers, quorum: u32::try_from(quorum).unwrap_or(1), expires_in_ms, four_eyes }
}

/// What policy says about a call that the model asked for.
pub(crate) fn decide(random: &mut Random) -> Decision {
    match random.weighted(&[50, 35, 12, 3]) {
        0 => Decision::allow(),
        1 => Decision::Confirm(Ground::reason("a person should look"), terms(random)),
        2 => Decision::deny("not here"),
        _ => Decision::Deny(Ground { reason: None, rule: Some("broken".into()), policy: None }),
    }
}

/// What policy says about what is mostly asked about.
pub(crate) fn decide_usual(random: &mut Random) -> Decision {
    match random.weighted(&[70, 15, 15]) {
        0 => Decision::confirm("a person should look"),
        1 => Decision::Confirm(Ground::reason("people should look"), terms(random)),
        _ => decide(random),
    }
}

/// What policy says when it is asked again.
pub(crate) fn recheck(random: &mut Random) -> Decision {
    match random.weighted(&[80, 10, 10]) {
        0 => Decision::allow(),
        1 => Decision::confirm("look again"),
        _ => Decision::deny("not any more"),
    }
}

/// What policy says when an answer arrives to a question on these terms.
pub(crate) fn decide_answered(random: &mut Random, asked: &Terms) -> Decision {
    match random.weighted(&[45, 45, 6, 4]) {
        0 => Decision::allow(),
        1 => Decision::Confirm(Ground::reason("still a question"), asked.clone()),
        2 => Decision::Confirm(Ground::reason("another question"), terms(random)),
        _ => Decision::deny("not any more"),
    }
}

/// What policy says about edited arguments of a call that was asked about under these terms.
pub(crate) fn decide_edited(random: &mut Random, asked: &Terms) -> Decision {
    match random.weighted(&[15, 60, 15, 10]) {
        0 => Decision::allow(),
        1 => Decision::Confirm(Ground::reason("still a question"), asked.clone()),
        2 => Decision::Confirm(Ground::reason("another question"), terms(random)),
        _ => Decision::deny("not like this"),
    }
}

/// What a person wants to be taken as said for calls that are yet to come.
pub(crate) fn remember(random: &mut Random, now: Timestamp) -> Remember {
    Remember {
        covers: if random.percent(65) { Covers::AnyArguments } else { Covers::TheseArguments },
        reach: *random.pick(&[Reach::Run, Reach::Session, Reach::Tenant]),
        until: match random.weighted(&[60, 35, 5]) {
            0 => None,
            1 => Some(now.plus_ms(1 + random.below(40_000) as u64)),
            _ => Some(now),
        },
    }
}

/// A result that no other call has.
pub(crate) fn result(random: &mut Random, serial: u64) -> ToolResult {
    let text = format!("{CANARY}-R-{serial}");
    match random.weighted(&[85, 11, 4]) {
        0 => ToolResult::success(text),
        1 => ToolResult::error(text),
        _ => ToolResult::halt(text),
    }
}

/// The number within a result that was made by [`result`].
pub(crate) fn serial_of(result: &ToolResult) -> Option<u64> {
    result.text().rsplit('-').next()?.parse().ok()
}
