//! Reads the words of a script.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_core::{
    Actor, Arguments, CallArguments, Code, Covers, Decision, Digest, FourEyes, Ground, Problem, ProposedCall,
    QuestionFacts, Reach, Remember, Repeat, Run, RunId, Terms, Timestamp, ToolFacts, ToolName, ToolResult,
};

/// What a script says of a call that the model asks for.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) call: ProposedCall,
    pub(crate) decision: Decision,
    pub(crate) defers: bool,
}

/// Reads `a, b(confirm by=finance), _(safe)`. `_` is a call with a blank id.
pub(crate) fn plans(text: &str) -> Vec<Plan> {
    split(text, ',').into_iter().map(plan).collect()
}

fn plan(text: &str) -> Plan {
    let (name, words) = bracketed(text);
    let provider_id: Option<Arc<str>> = match name {
        "_" => Some(" ".into()),
        "-" => None,
        id => Some(id.into()),
    };
    let requested = if matches!(name, "_" | "-") { "t" } else { name };
    // `tool=pay` says that what is asked for under this id is a call of `pay`.
    let requested = value(words, "tool").unwrap_or(requested);
    let registered = requested.replace('.', "_");
    let has = |word: &str| words.split_whitespace().any(|one| one == word);
    let repeat = match (has("safe"), has("key")) {
        (true, _) => Repeat::Safe,
        (_, true) => Repeat::WithKey,
        _ => Repeat::Never,
    };
    let definition = value(words, "definition").map(Arc::from);
    let facts = ToolFacts { name: ToolName::new(registered.as_str()), repeat, source: "native".into(), definition };
    let problem = |code, text: &str| Some(Problem { code, text: text.into() });
    let shown = value(words, "args").unwrap_or("0");
    let mut call = ProposedCall {
        provider_id,
        name: requested.into(),
        tool: Some(facts),
        arguments: CallArguments::Canonical(arguments(&registered, shown)),
        problem: None,
    };
    if has("unknown") {
        call.tool = None;
        call.problem = problem(Code::ToolNotFound, "no such tool");
    }
    if has("bad") {
        call.arguments = CallArguments::Unusable("[".into());
        call.problem = problem(Code::InvalidArguments, "not an object");
    }
    Plan { call, decision: decision(words), defers: has("defer") }
}

/// Reads `allow`, `deny`, `confirm` with `by=`, `quorum=`, `within=`. Nothing is `allow`.
pub(crate) fn decision(words: &str) -> Decision {
    let has = |word: &str| words.split_whitespace().any(|one| one == word);
    if has("deny") {
        return Decision::deny("the policy says no");
    }
    if !has("confirm") {
        return Decision::allow();
    }
    let roles = value(words, "by").map(|roles| roles.split('+').map(Arc::from).collect());
    Decision::Confirm(
        Ground::reason("be careful"),
        Terms {
            approvers: roles.unwrap_or_default(),
            quorum: value(words, "quorum").map_or(1, |text| text.parse().unwrap()),
            expires_in_ms: value(words, "within").map(|text| text.parse().unwrap()),
            four_eyes: if has("four_eyes") { FourEyes::On } else { FourEyes::Off },
        },
    )
}

/// Arguments with a digest that covers the name and the text.
pub(crate) fn arguments(tool: &str, text: &str) -> Arguments {
    Arguments::from_canonical(text, digest(tool, text))
}

pub(crate) fn digest(tool: &str, text: &str) -> Digest {
    let mut bytes = [0_u8; 32];
    for (at, byte) in tool.bytes().chain([0]).chain(text.bytes()).enumerate() {
        let slot = &mut bytes[at % 32];
        *slot = slot.wrapping_mul(31).wrapping_add(byte).wrapping_add(1);
    }
    Digest(bytes)
}

/// A run whose questions have digests.
pub(crate) fn new_run(id: &str) -> Run {
    Run::new(RunId::new(id), question_digest)
}

/// Covers everything that a question shows.
pub(crate) fn question_digest(facts: &QuestionFacts<'_>) -> Digest {
    let asks = facts.asks.map(ToolResult::text);
    digest("question", &format!("{facts:?} {} {asks:?}", facts.arguments))
}

/// Reads `ok`, `error: boom`, `halt: bye`.
pub(crate) fn result(text: &str) -> ToolResult {
    match text.split_once(':') {
        Some(("error", message)) => ToolResult::error(message.trim()),
        Some(("halt", message)) => ToolResult::halt(message.trim()),
        _ => ToolResult::success(text),
    }
}

/// Reads `these`, `any`, with `in=run`, `in=session` or `in=tenant`, and `until=` a moment.
pub(crate) fn remember(words: &str) -> Remember {
    let has = |word: &str| words.split_whitespace().any(|one| one == word);
    Remember {
        covers: if has("any") { Covers::AnyArguments } else { Covers::TheseArguments },
        reach: match value(words, "in") {
            Some("tenant") => Reach::Tenant,
            Some("session") => Reach::Session,
            Some(_) | None => Reach::Run,
        },
        until: value(words, "until").map(|text| Timestamp(0).plus_ms(text.parse().unwrap())),
    }
}

/// Reads `ana`, `ana[finance+ops]` or `ana[finance]/acme`, who belongs to a tenant. `nobody` has no name.
pub(crate) fn actor(text: &str) -> Actor {
    let (text, tenant) = text.split_once('/').map_or((text, None), |(text, tenant)| (text, Some(tenant.into())));
    let (name, roles) = match text.split_once('[') {
        Some((name, roles)) => (name, roles.trim_end_matches(']')),
        None => (text, ""),
    };
    let roles: BTreeSet<Arc<str>> = roles.split('+').filter(|role| !role.is_empty()).map(Arc::from).collect();
    let id = (name != "nobody").then(|| name.into());
    Actor { id, roles, tenant }
}

/// Splits at a mark, outside of brackets.
pub(crate) fn split(text: &str, mark: char) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == mark && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Splits `b(confirm)` into `b` and `confirm`.
pub(crate) fn bracketed(text: &str) -> (&str, &str) {
    match text.split_once('(') {
        Some((before, words)) => (before.trim(), words.trim_end_matches(')')),
        None => (text.trim(), ""),
    }
}

pub(crate) fn value<'a>(words: &'a str, key: &str) -> Option<&'a str> {
    words.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}
