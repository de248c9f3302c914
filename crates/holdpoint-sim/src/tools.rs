//! The tools of the simulated world, the policy over them, and the people who answer its questions.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::{arguments_for, parse_arguments};
use holdpoint_core::{
    Actor, Arguments, CallArguments, Code, Decision, Ground, Problem, ProposedCall, Repeat, RequestedName, Terms,
    ToolFacts, ToolName, ToolResult,
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

fn resolve(name: &str) -> Option<ToolFacts> {
    let known = |wanted: &str| REGISTERED.iter().find(|(name, _)| *name == wanted);
    let (name, repeat) = known(name).or_else(|| known(&name.replace('.', "_")))?;
    let source = if *name == "crunch" { "worker" } else { "native" };
    Some(ToolFacts { name: ToolName::new(*name), repeat: *repeat, source: source.into() })
}

/// Arguments that no other call has.
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

/// Who may be asked. The last one is nobody in particular.
const PEOPLE: [(Option<&str>, &[&str]); 6] = [
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
    let (approvers, quorum_max) = match random.weighted(&[40, 40, 20]) {
        0 => (BTreeSet::new(), 3),
        1 => (role("ops"), 3),
        _ => (role("money"), 2),
    };
    let quorum = if random.percent(50) { 1 + random.below(quorum_max) } else { 1 };
    let expires_in_ms = random.percent(30).then_some(60_000);
    Terms { approvers, quorum: u32::try_from(quorum).unwrap_or(1), expires_in_ms }
}

/// What policy says about a call that the model asked for.
pub(crate) fn decide(random: &mut Random) -> Decision {
    match random.weighted(&[50, 35, 12, 3]) {
        0 => Decision::allow(),
        1 => Decision::Confirm(Ground::reason("a person should look"), terms(random)),
        2 => Decision::deny("not here"),
        _ => Decision::Deny(Ground { reason: None, rule: Some("broken".into()) }),
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

/// What policy says about edited arguments of a call that was asked about under these terms.
pub(crate) fn decide_edited(random: &mut Random, asked: &Terms) -> Decision {
    match random.weighted(&[15, 60, 15, 10]) {
        0 => Decision::allow(),
        1 => Decision::Confirm(Ground::reason("still a question"), asked.clone()),
        2 => Decision::Confirm(Ground::reason("another question"), terms(random)),
        _ => Decision::deny("not like this"),
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
