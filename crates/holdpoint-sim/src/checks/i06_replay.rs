//! I6: replaying the log gives the live state, and an import gives the exported one.

use super::{Check, Disk, Seen};
use holdpoint_core::{CallArguments, Message, Run};

pub(super) struct Replay;

impl Check for Replay {
    fn name(&self) -> &'static str {
        "i6_replay"
    }

    fn see(&mut self, seen: &Seen<'_>, _: &Disk) -> Result<(), String> {
        match seen {
            Seen::Rebuilt { live, read } => {
                same(&format!("{live:?}"), &format!("{read:?}")).and_then(|()| same_content(live, read))
            }
            Seen::Imported { from, into } => same(&format!("{:?}", from.snapshot()), &format!("{:?}", into.snapshot()))
                .and_then(|()| same_content(from, into)),
            _ => Ok(()),
        }
    }
}

fn same(live: &str, read: &str) -> Result<(), String> {
    if live == read {
        return Ok(());
    }
    let differ = live.bytes().zip(read.bytes()).take_while(|(one, other)| one == other).count();
    let around = |text: &str| {
        let from = text.floor_char_boundary(differ.saturating_sub(60));
        let to = text.ceil_char_boundary((differ + 60).min(text.len()));
        text[from..to].to_owned()
    };
    Err(format!("live `{}`, read back `{}`", around(live), around(read)))
}

/// `Debug` hides what is confidential, so that is compared by itself.
fn same_content(live: &Run, read: &Run) -> Result<(), String> {
    let messages = live.messages().iter().zip(read.messages());
    if !messages.into_iter().all(|(one, other)| same_message(one, other)) {
        return Err("the messages differ".to_owned());
    }
    let calls = live.calls().iter().zip(read.calls());
    for (one, other) in calls {
        if !same_arguments(&one.arguments, &other.arguments) {
            return Err(format!("the arguments of `{}` differ", one.id));
        }
        if let (Some(one), Some(other)) = (one.settlement(), other.settlement())
            && !one.result.same_as(&other.result)
        {
            return Err("the results differ".to_owned());
        }
    }
    if live.earlier_turns() != read.earlier_turns() {
        return Err("what ran in earlier turns differs".to_owned());
    }
    if live.context() != read.context() {
        return Err("the context differs".to_owned());
    }
    Ok(())
}

fn same_message(one: &Message, other: &Message) -> bool {
    match (one, other) {
        (Message::System(one), Message::System(other)) => one == other,
        (Message::User(one), Message::User(other)) => one == other,
        (Message::Assistant(one), Message::Assistant(other)) => {
            let mut calls = one.calls.iter().zip(&other.calls);
            calls.all(|(one, other)| same_arguments(&one.arguments, &other.arguments))
        }
        (Message::Tool(one), Message::Tool(other)) => one.result.same_as(&other.result),
        _ => false,
    }
}

fn same_arguments(one: &CallArguments, other: &CallArguments) -> bool {
    match (one, other) {
        (CallArguments::Canonical(one), CallArguments::Canonical(other)) => one == other,
        (CallArguments::Unusable(one), CallArguments::Unusable(other)) => one == other,
        (CallArguments::Dropped { .. }, CallArguments::Dropped { .. }) => true,
        _ => false,
    }
}
