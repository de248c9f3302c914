//! A tool of a server, as a tool like any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::canonical_value;
use holdpoint_core::{CallKey, ToolResult};
use holdpoint_tools::{Inquiry, Tool, ToolCall, ToolDefinition, ToolError};
use rmcp::ServiceError;
use rmcp::model::{CallToolRequestParams, ElicitResult, ElicitationAction, InputRequiredResult, ServerResult};
use serde_json::Value;

use crate::ask::{self, AskState, NotAskable, Reply};
use crate::board::Ask;
use crate::catalog::Slot;
use crate::content::{result_of, result_of_error};
use crate::exchange::{Exchange, Turn};
use crate::host::HostGuard;
use crate::server::Server;
use crate::{ConnectProblem, http};

/// How often a server may give a call back without asking anybody.
const ROUNDS_MAX: usize = 10;
/// How often a call is sent again that the server certainly did not look at.
const RESENDS_MAX: usize = 1;

/// A tool of a server, exactly as it was accepted.
pub(crate) struct McpTool {
    server: Arc<Server>,
    slot: Arc<Slot>,
    /// The connection lives as long as a tool of it does.
    _guard: Arc<HostGuard>,
}

impl McpTool {
    pub(crate) fn new(server: Arc<Server>, slot: Arc<Slot>, guard: Arc<HostGuard>) -> Self {
        Self { server, slot, _guard: guard }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.slot.definition
    }

    async fn call(&self, call: ToolCall) -> Result<ToolResult, ToolError> {
        if !self.slot.is_offered() {
            return Ok(self.withdrawn());
        }
        // Nothing closes the semaphore.
        let _permit = Arc::clone(&self.server.permits).acquire_owned().await.map_err(ToolError::from)?;
        let running = Running { tool: self, call: &call };
        let stop = call.cancellation().clone();
        let told = stop.run_until_cancelled(running.run()).await;
        told.unwrap_or_else(|| Err(ToolError::cancelled()))
    }

    fn is_offered(&self) -> bool {
        self.slot.is_offered()
    }

    fn abandon(&self, key: &CallKey) {
        self.server.parking.abandon(key);
    }
}

impl McpTool {
    fn withdrawn(&self) -> ToolResult {
        let name = &self.slot.definition.name;
        ToolResult::error(format!(
            "The tool `{name}` is not what it was when it was offered: its server changed or removed it, and nobody \
             accepted that. The call was not executed."
        ))
    }

    /// Says that the server was not told of the call.
    fn unreached(&self, problem: ConnectProblem) -> ToolResult {
        let name = &self.slot.definition.name;
        ToolResult::error(format!(
            "The server of the tool `{name}` cannot be used: {problem}. The call was not executed."
        ))
    }

    /// Says that the server was told of the call and no answer came.
    fn unanswered(&self, problem: ConnectProblem) -> ToolResult {
        let name = &self.slot.definition.name;
        let effect = if self.slot.definition.metadata.repeat.may_repeat() { "" } else { " It may have taken effect." };
        ToolResult::error(format!("The server of the tool `{name}` gave no answer: {problem}.{effect}"))
    }
}

/// One call while it has a place at the server.
struct Running<'a> {
    tool: &'a McpTool,
    call: &'a ToolCall,
}

/// How a call goes on after something that the server said.
enum Next {
    Wait(Box<Exchange>),
    /// The server gave the call back, and gets it again with this.
    Again(CallToolRequestParams),
    Over(Result<ToolResult, ToolError>),
}

/// What the server was sent.
#[derive(Default)]
struct Sent {
    params: Option<CallToolRequestParams>,
    resends: usize,
    /// Whether the server has looked at the call.
    is_seen: bool,
}

/// Why a request was not sent.
enum NotBegun {
    /// The call ends with this.
    Settled(ToolResult),
    /// Whoever called the tool has lost the call meanwhile.
    Unwanted,
}

impl Sent {
    /// What is sent once more: the server did not know the session, so it did not look at the call.
    fn again(&mut self, answer: &Result<ServerResult, ServiceError>) -> Option<CallToolRequestParams> {
        let unseen = matches!(answer, Err(error) if http::is_session_unknown(error));
        if !unseen || self.resends >= RESENDS_MAX {
            self.is_seen = true;
            return None;
        }
        self.resends += 1;
        self.params.clone()
    }
}

impl Running<'_> {
    async fn run(self) -> Result<ToolResult, ToolError> {
        let reply = match self.call.given() {
            None => None,
            // Without it nobody can tell a call that waits from one that never began.
            Some(given) => Some(
                Reply::of(given).ok_or_else(|| ToolError::unknown("what a person answered cannot be read any more"))?,
            ),
        };
        let mut sent = Sent::default();
        let mut next = match &reply {
            None => Next::Again(self.params(None)?),
            Some(reply) => self.resumed(reply)?,
        };
        for _ in 0..=ROUNDS_MAX {
            let mut exchange = match next {
                Next::Over(result) => return result,
                Next::Wait(exchange) => *exchange,
                Next::Again(params) => {
                    sent.params = Some(params.clone());
                    match self.begin(params).await {
                        Ok(exchange) => exchange,
                        Err(NotBegun::Settled(result)) => return Ok(result),
                        Err(NotBegun::Unwanted) if sent.is_seen => {
                            return Err(ToolError::unknown("the call was lost between two rounds"));
                        }
                        Err(NotBegun::Unwanted) => return Err(ToolError::not_started()),
                    }
                }
            };
            next = match exchange.next().await {
                Turn::Answered(answer) => match sent.again(&answer) {
                    Some(params) => {
                        exchange.session().give_up();
                        Next::Again(params)
                    }
                    None => self.answered(*answer, &exchange)?,
                },
                Turn::Asked(ask) => {
                    sent.is_seen = true;
                    self.asked(ask, exchange, reply.as_ref())
                }
                Turn::Ended => Next::Over(Ok(self.tool.unanswered(exchange.session().problem()))),
            };
        }
        if let Next::Over(result) = next {
            return result;
        }
        Ok(ToolResult::error("The server asked too often before it gave a result. It may have taken effect."))
    }

    fn params(
        &self,
        again: Option<(BTreeMap<String, Value>, Option<String>)>,
    ) -> Result<CallToolRequestParams, ToolError> {
        let text = self.call.arguments().expose();
        let arguments: Value = serde_json::from_str(text).unwrap_or_default();
        // What is sent is what was approved, or nothing is.
        if canonical_value(&arguments) != text {
            return Err(ToolError::invalid_arguments("a number is too large to be sent as it is"));
        }
        let Value::Object(arguments) = arguments else { return Err(ToolError::invalid_arguments("not an object")) };
        let mut params = CallToolRequestParams::new(self.tool.slot.name.clone()).with_arguments(arguments);
        if let Some((responses, state)) = again {
            params.input_responses = Some(responses);
            params.request_state = state;
        }
        Ok(params)
    }

    async fn begin(&self, params: CallToolRequestParams) -> Result<Exchange, NotBegun> {
        let server = &self.tool.server;
        let session = server.session().await.map_err(|problem| NotBegun::Settled(self.tool.unreached(problem)))?;
        // While it waited for its place or a new connection the tool may have changed.
        if !self.tool.slot.is_offered() {
            return Err(NotBegun::Settled(self.tool.withdrawn()));
        }
        self.call.may_start().map_err(|_| NotBegun::Unwanted)?;
        let begun = Exchange::begin(&server.host, session, &server.board, self.call, params).await;
        begun.map_err(|_| NotBegun::Settled(self.tool.unreached(ConnectProblem::Closed)))
    }

    /// Goes on with what a person said.
    fn resumed(&self, reply: &Reply) -> Result<Next, ToolError> {
        match &reply.state {
            AskState::Again { request_state, asked } => {
                Ok(Next::Again(self.params(Some((reply.responses(asked), request_state.clone())))?))
            }
            AskState::Waiting { wait, mode } => match self.tool.server.parking.take(self.call.key(), *wait) {
                Some(mut exchange) => {
                    exchange.resume(self.call);
                    exchange.answer(reply.accepted(*mode));
                    Ok(Next::Wait(Box::new(exchange)))
                }
                // The connection that asked is gone, and with it the call. What may be repeated begins again, and what a
                // person said is said again when the server asks the same.
                None if self.tool.slot.definition.metadata.repeat.may_repeat() => Ok(Next::Again(self.params(None)?)),
                None => Err(ToolError::unknown("the connection on which the server asked is gone")),
            },
        }
    }

    fn answered(&self, answer: Result<ServerResult, ServiceError>, exchange: &Exchange) -> Result<Next, ToolError> {
        Ok(match answer {
            Ok(ServerResult::CallToolResult(result)) => Next::Over(Ok(result_of(result))),
            Ok(ServerResult::InputRequiredResult(result)) => self.given_back(&result)?,
            Ok(_) => Next::Over(Ok(self.tool.unanswered(ConnectProblem::Protocol))),
            Err(ServiceError::McpError(error)) => Next::Over(Ok(result_of_error(&error))),
            Err(_) => {
                exchange.session().give_up();
                Next::Over(Ok(self.tool.unanswered(exchange.session().problem())))
            }
        })
    }

    /// The server ended the call with questions and wants it again with answers.
    fn given_back(&self, result: &InputRequiredResult) -> Result<Next, ToolError> {
        match ask::again_inquiry(result) {
            Ok(Some(inquiry)) => Ok(Next::Over(Err(ToolError::needs_input(inquiry)))),
            Ok(None) => {
                let responses = ask::without_people(result);
                Ok(Next::Again(self.params(Some((responses, result.request_state.clone())))?))
            }
            Err(problem) => Ok(Next::Over(Ok(not_askable(problem)))),
        }
    }

    /// The server asks a person and waits on its connection.
    fn asked(&self, ask: Ask, mut exchange: Exchange, said: Option<&Reply>) -> Next {
        let inquiry = match ask::waiting_inquiry(&ask.params, exchange.number()) {
            Ok(inquiry) => inquiry,
            Err(_) => {
                exchange.asked(ask.reply);
                exchange.answer(ElicitResult::new(ElicitationAction::Cancel));
                return Next::Wait(Box::new(exchange));
            }
        };
        exchange.asked(ask.reply);
        // A call that began again because its connection was lost gets the answer that a person gave before.
        if let Some(said) = said
            && let AskState::Waiting { wait, mode } = said.state
            && wait != exchange.number()
            && asks_the_same(&said.inquiry, &inquiry)
        {
            exchange.answer(said.accepted(mode));
            return Next::Wait(Box::new(exchange));
        }
        self.tool.server.parking.park(self.call.key().clone(), exchange);
        Next::Over(Err(ToolError::needs_input(inquiry)))
    }
}

fn asks_the_same(one: &Inquiry, other: &Inquiry) -> bool {
    // Stored and read back, 0.0 is 0.
    one.message == other.message && canonical_value(&one.schema) == canonical_value(&other.schema)
}

fn not_askable(problem: NotAskable) -> ToolResult {
    let what = match problem {
        NotAskable::TooLarge => "more than a person can be asked",
        NotAskable::WantsModel => "for the use of a model, which servers do not get",
        NotAskable::Unreadable => "something that is not understood here",
    };
    ToolResult::error(format!("The server asked {what}, and the call was given up. It may have taken effect."))
}
