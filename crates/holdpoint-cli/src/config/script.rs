//! `scripted:FILE`: a model that says what a file tells it to, for demonstrations and tests without a key or a network.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint::Role;
use holdpoint_config::read_text;
use holdpoint_model::{Delta, DeltaSink, Model, ModelError, ModelReply, ModelRequest, ScriptedReply};
use holdpoint_testkit::{SCENARIO_BYTES_MAX, parse_script};

/// Gives the nth reply to a conversation in which the model has spoken n times, and begins again after the last. So any
/// number of runs go on beside each other, in any number of processes, and each hears the script from its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    name: Arc<str>,
    replies: Arc<[ScriptedReply]>,
}

impl Script {
    /// From replies. There must be one at least.
    pub(crate) fn new(name: impl Into<Arc<str>>, replies: Vec<ScriptedReply>) -> Self {
        Self { name: name.into(), replies: replies.into() }
    }

    /// From a file: the list that a scenario has under `model`.
    pub(crate) fn load(path: &Path) -> Result<Self, String> {
        let file = path.display().to_string();
        let text = read_text(path, SCENARIO_BYTES_MAX as u64).map_err(|why| format!("the script `{file}` {why}"))?;
        let replies = parse_script(&text, &file).map_err(|error| error.to_string())?;
        if replies.is_empty() {
            return Err(format!("the script `{file}` has no replies"));
        }
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        Ok(Self::new(format!("scripted:{name}"), replies))
    }

    fn next(&self, request: &ModelRequest<'_>) -> Option<&ScriptedReply> {
        let spoken = request.messages.iter().filter(|message| message.role() == Role::Assistant).count();
        self.replies.get(spoken.checked_rem(self.replies.len())?)
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }

    async fn reply(
        &self,
        request: &ModelRequest<'_>,
        deltas: &dyn DeltaSink,
    ) -> Result<Option<ModelReply>, ModelError> {
        match self.next(request) {
            Some(ScriptedReply::Say(reply)) => {
                if deltas.listens() && !reply.text.is_empty() {
                    // Word by word, as a model would.
                    reply.text.split_inclusive(' ').for_each(|word| deltas.take(Delta::Text(word)));
                }
                Ok(Some(reply.clone()))
            }
            Some(ScriptedReply::Fail(message)) => Err(ModelError::new(Arc::clone(message))),
            Some(ScriptedReply::Nothing) | None => Ok(None),
        }
    }
}
