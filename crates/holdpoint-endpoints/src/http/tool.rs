//! The tool: request, exchange, result.

use async_trait::async_trait;
use holdpoint_core::ToolResult;
use holdpoint_tools::{Tool, ToolCall, ToolDefinition, ToolError};

use super::exchange::{Exchange, Failure, Fault};
use super::network::Network;
use super::request::RequestPlan;
use super::response::Limits;
use super::target::Target;
use super::{ResponseSpec, texts};
use crate::in_time::in_time;

pub(super) struct HttpTool {
    pub(super) definition: ToolDefinition,
    pub(super) plan: RequestPlan,
    pub(super) target: Target,
    pub(super) response: ResponseSpec,
    pub(super) max_redirects: u32,
    pub(super) max_bytes: usize,
    pub(super) network: Network,
}

#[async_trait]
impl Tool for HttpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        let request = self.plan.prepare(&call)?;
        let exchange = Exchange {
            network: &self.network,
            target: &self.target,
            max_redirects: self.max_redirects,
            max_bytes: self.max_bytes,
        };
        // Dropping the exchange closes its connection.
        match in_time(&call, &self.definition, exchange.run(request)).await? {
            Some(Ok(answer)) => {
                let limits = Limits { max_bytes: self.max_bytes, repeat: self.plan.repeat };
                Ok(self.response.map(answer, limits))
            }
            Some(Err(failure)) => Ok(self.failed(failure)),
            None => Ok(ToolResult::error(texts::too_slow(self.plan.repeat))),
        }
    }
}

impl HttpTool {
    fn failed(&self, failure: Failure) -> ToolResult {
        let name = &self.definition.name;
        match failure.fault {
            Fault::Refused(reason) => tracing::warn!(tool = %name, %reason, "an HTTP tool was kept from an address"),
            other => tracing::debug!(tool = %name, fault = ?other, "an HTTP tool got no answer"),
        }
        ToolResult::error(texts::of_failure(failure, self.plan.repeat))
    }
}
