//! A model that follows the plan in the conversation: asked again it says the same.

use std::sync::Arc;

use async_trait::async_trait;
use holdpoint::Message;
use holdpoint_model::{DeltaSink, Model, ModelCall, ModelError, ModelReply, ModelRequest};

use crate::ledger::Point;
use crate::plan::{LAST_WORD, Plan};
use crate::tools::Bench;

#[derive(Clone, Debug)]
pub(crate) struct PlannedModel {
    bench: Arc<Bench>,
}

impl PlannedModel {
    pub(crate) fn new(bench: &Arc<Bench>) -> Self {
        Self { bench: Arc::clone(bench) }
    }
}

#[async_trait]
impl Model for PlannedModel {
    fn name(&self) -> Option<&str> {
        Some("planned")
    }

    async fn reply(&self, request: &ModelRequest<'_>, _: &dyn DeltaSink) -> Result<Option<ModelReply>, ModelError> {
        let said = request.messages.iter().find_map(|message| match &**message {
            Message::User(_) => Some(message.text()),
            Message::System(_) | Message::Assistant(_) | Message::Tool(_) => None,
        });
        let plan = said.and_then(|text| Plan::parse(&text)).ok_or_else(|| ModelError::new("no plan"))?;
        self.bench.dwell(Point::InModel).await;
        let replies = request.messages.iter().filter(|message| matches!(&***message, Message::Assistant(_))).count();
        let turn = u32::try_from(replies).unwrap_or(u32::MAX).saturating_add(1);
        if turn > plan.turns() {
            return Ok(Some(ModelReply { text: LAST_WORD.into(), ..ModelReply::default() }));
        }
        let calls = plan.calls(turn).into_iter().enumerate().map(|(index, call)| ModelCall {
            // The same ids in every turn: they are no key of anything.
            id: Some(format!("c{index}").into()),
            name: call.kind.name.into(),
            arguments: Some(call.arguments().into()),
        });
        Ok(Some(ModelReply { calls: calls.collect(), ..ModelReply::default() }))
    }
}
