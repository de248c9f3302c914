//! One call at a server, from its request to its response. Whoever drops it cancels it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use holdpoint_core::CallKey;
use holdpoint_tools::ToolCall;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotificationParam, ClientRequest, ElicitResult, ElicitationAction,
    RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle};
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::board::{Ask, Board, Ticket};
use crate::host::Host;
use crate::link::Session;

/// How many calls of one server may wait for people while the server waits for them.
const PARKED_MAX: usize = 64;
/// How long a server is kept waiting for a person.
const PARKED_FOR_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// How often it is looked for calls that waited too long.
pub(crate) const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// A call that a server has.
pub(crate) struct Exchange {
    handle: RequestHandle<RoleClient>,
    asks: mpsc::Receiver<Ask>,
    ticket: Ticket,
    session: Arc<Session>,
    /// Cancels the call at the server unless it came to its end.
    cancel: CancelOnDrop,
    /// Where what was asked is answered.
    reply: Option<oneshot::Sender<ElicitResult>>,
}

/// What a server does about a call.
pub(crate) enum Turn {
    /// It answers.
    Answered(Box<Result<ServerResult, ServiceError>>),
    /// It asks a person.
    Asked(Ask),
    /// Its connection ended.
    Ended,
}

impl Exchange {
    /// Sends the request.
    pub(crate) async fn begin(
        host: &Host,
        session: Arc<Session>,
        board: &Arc<Board>,
        call: &ToolCall,
        params: CallToolRequestParams,
    ) -> Result<Self, ServiceError> {
        let (ticket, asks) = board.enter(call);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let peer = session.peer();
        let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
        let cancel = CancelOnDrop { host: host.clone(), peer: peer.clone(), request: Some(handle.id.clone()) };
        ticket.sent(handle.id.clone(), handle.progress_token.clone());
        Ok(Self { handle, asks, ticket, session, cancel, reply: None })
    }

    /// Waits for what the server does next.
    pub(crate) async fn next(&mut self) -> Turn {
        tokio::select! {
            biased;
            answered = &mut self.handle.rx => {
                self.cancel.request = None;
                Turn::Answered(Box::new(answered.unwrap_or(Err(ServiceError::TransportClosed))))
            }
            Some(ask) = self.asks.recv() => Turn::Asked(ask),
            () = self.session.ended() => {
                self.cancel.request = None;
                Turn::Ended
            }
        }
    }

    /// Tells this wait from others of the same server.
    pub(crate) fn number(&self) -> u64 {
        self.ticket.number()
    }

    /// Whom the next reply goes to.
    pub(crate) fn asked(&mut self, reply: oneshot::Sender<ElicitResult>) {
        self.reply = Some(reply);
    }

    /// Answers what was asked.
    pub(crate) fn answer(&mut self, result: ElicitResult) {
        if let Some(reply) = self.reply.take() {
            // The server may have given up meanwhile: then it says so in its answer.
            let _ = reply.send(result);
        }
    }

    /// Goes on for a call that waited for a person.
    pub(crate) fn resume(&self, call: &ToolCall) {
        self.ticket.resume(call);
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }
}

struct CancelOnDrop {
    host: Host,
    peer: Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let peer = self.peer.clone();
        let reason = Some("nobody waits for the result any more".to_owned());
        let mut told = Box::pin(async move {
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(request), reason)).await;
        });
        // Begun here, so that the server hears of it before it gets the next call.
        if (&mut told).now_or_never().is_none() {
            self.host.spawn(told);
        }
    }
}

/// Calls for which a server waits on its connection while a person thinks. They live as long as this process does.
#[derive(Default)]
pub(crate) struct Parking(Mutex<HashMap<CallKey, (Instant, Exchange)>>);

impl Parking {
    /// Keeps a call. When there are too many, the one that waited longest is cancelled.
    pub(crate) fn park(&self, key: CallKey, exchange: Exchange) {
        exchange.ticket.park();
        self.sweep();
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.len() >= PARKED_MAX
            && let Some(oldest) = parked.iter().min_by_key(|(_, (since, _))| *since).map(|(key, _)| key.clone())
        {
            parked.remove(&oldest);
        }
        parked.insert(key, (Instant::now(), exchange));
    }

    /// The call, if it is this wait of it.
    pub(crate) fn take(&self, key: &CallKey, wait: u64) -> Option<Exchange> {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, exchange) = parked.remove(key)?;
        (exchange.number() == wait && !exchange.session.has_ended()).then_some(exchange)
    }

    /// Gives up a call that waits for a person, if it does: the server is told that nobody answers, and that nobody waits.
    pub(crate) fn abandon(&self, key: &CallKey) {
        let parked = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        if let Some((_, mut exchange)) = parked {
            exchange.answer(ElicitResult::new(ElicitationAction::Cancel));
        }
    }

    /// Gives up what waited too long, and what waits for a connection that is gone.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let waits = |(since, exchange): &(Instant, Exchange)| {
            now.duration_since(*since) < PARKED_FOR_MAX && !exchange.session.has_ended()
        };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, parked| waits(parked));
    }
}
