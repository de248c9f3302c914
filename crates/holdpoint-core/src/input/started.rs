//! Somebody started the run.

use std::sync::Arc;

use crate::{Actor, Attributes, Event, Message, Phase, Rejection, Run, RunStarted, Settings};

/// What a run starts with.
#[derive(Clone, Debug)]
pub struct Started {
    /// Its settings.
    pub settings: Arc<Settings>,
    /// Context attributes; only those that the settings list are kept.
    pub context: Attributes,
    /// The agent's name.
    pub agent: Option<Arc<str>>,
    /// The model's name.
    pub model: Option<Arc<str>>,
    /// Becomes message 0: a different system message there is replaced, an equal one kept.
    pub system_prompt: Option<Arc<str>>,
    /// The conversation so far, with the input.
    pub messages: Vec<Arc<Message>>,
    /// Who asked for it.
    pub actor: Actor,
    /// The session that it belongs to.
    pub session: Option<Arc<str>>,
    /// The trace of whoever started it, as W3C `traceparent`.
    pub trace: Option<Arc<str>>,
}

pub(super) fn decide(run: &Run, started: Started) -> Result<Vec<Event>, Rejection> {
    if run.phase != Phase::New {
        return Err(Rejection::RunExists);
    }
    let keys = &started.settings.context_keys;
    let context = started.context.into_iter().filter(|(key, _)| keys.contains(key)).collect();
    Ok(vec![Event::RunStarted(Arc::new(RunStarted {
        messages: with_system_prompt(started.messages, started.system_prompt),
        settings: started.settings,
        context,
        agent: started.agent,
        model: started.model,
        actor: started.actor,
        session: started.session,
        trace: started.trace,
    }))])
}

fn with_system_prompt(mut messages: Vec<Arc<Message>>, prompt: Option<Arc<str>>) -> Vec<Arc<Message>> {
    let Some(prompt) = prompt else { return messages };
    match messages.first().map(|message| &**message) {
        Some(Message::System(there)) if *there == prompt => {}
        Some(Message::System(_)) => messages[0] = Arc::new(Message::System(prompt)),
        Some(_) | None => messages.insert(0, Arc::new(Message::System(prompt))),
    }
    messages
}
