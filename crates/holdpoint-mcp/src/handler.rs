//! What a server may say and ask by itself.

use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability,
    ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam, ProtocolVersion,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Notify, oneshot};

use crate::board::{Ask, Board};

/// Takes what a server says: that its tools changed, how far a call is, and what it asks a person. Nothing else is offered
/// to servers: neither our model nor our folders.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) board: Arc<Board>,
    pub(crate) changed: Arc<Notify>,
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let (reply, replied) = oneshot::channel();
        let origin = context.extensions.get::<InboundStreamOrigin>();
        if !self.board.ask(origin, Ask { params, reply }) {
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        }
        tokio::select! {
            // Whoever was asked is gone: the call was cancelled, or nobody may be asked.
            reply = replied => Ok(reply.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))),
            () = context.ct.cancelled() => Ok(ElicitResult::new(ElicitationAction::Cancel)),
        }
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.board.progress(&report);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(elicitation);
        let config = ClientConfig::new(capabilities, Implementation::new("holdpoint", env!("CARGO_PKG_VERSION")));
        // What is said where a connection is opened in the older way; the newer one has its own list.
        config.with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
