//! Makes any `tower::Layer` a hook, so that tower's timeout, limits, load shedding and buffer work unchanged.
//!
//! ```
//! use std::time::Duration;
//! use holdpoint_tools::hooks::tower_hook;
//! use tower::ServiceBuilder;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(async {
//! // Outermost first. What is shed is `rate_limited`, what takes too long is `timed_out`.
//! let layers = ServiceBuilder::new()
//!     .load_shed()
//!     .buffer(100) // starts a task, so it is made inside a runtime
//!     .concurrency_limit(10)
//!     .rate_limit(50, Duration::from_secs(1))
//!     .timeout(Duration::from_secs(5));
//! let hook = tower_hook(layers.into_inner());
//! # let _: std::sync::Arc<dyn holdpoint_tools::Around> = hook;
//! # });
//! ```

#[cfg(test)]
mod tests;

use std::error::Error;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use holdpoint_core::{Code, Outcome, Settlement, Source, ToolResult};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::Instant;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Layer, Service};

use super::{HookConfigError, Scope};
use crate::{Around, AroundCall, HookError, Next};

/// A hook from a layer, for every tool.
pub fn tower_hook<L>(layer: L) -> Arc<TowerHook<L::Service>>
where
    L: Layer<Inside>,
{
    Arc::new(TowerHook::new(Scope::All, layer))
}

/// One service for all calls, so that limits and buffers are shared.
///
/// What tower's load shedding refuses is `rate_limited`. What its timeout cuts is `timed_out` if the tool had started,
/// and `rate_limited` if it had not. Every other error of a layer is a failure of the hook.
pub struct TowerHook<S> {
    scope: Scope,
    /// Locked until the service is ready and has taken the call, not while the call runs.
    service: Mutex<S>,
}

/// A call on its way through the layers. They may look at it, and pass it on more than once.
#[derive(Clone, Debug)]
pub struct AroundRequest {
    call: Arc<AroundCall>,
    starts: mpsc::UnboundedSender<Start>,
}

/// The innermost service: it lets what is inside the hook run.
///
/// That borrows from the driver, while a service lives on its own. So this only asks the hook to run it, and hands the
/// result to the layers.
#[derive(Clone, Copy, Debug)]
pub struct Inside;

/// Whoever asks for a run wants to know how it ended.
type Start = oneshot::Sender<Result<Settlement, HookError>>;

impl AroundRequest {
    /// The call.
    pub fn call(&self) -> &AroundCall {
        &self.call
    }
}

impl<S> TowerHook<S> {
    /// A hook from a layer, only for this tool: a registered name or a glob.
    pub fn for_tool<L>(tool: &str, layer: L) -> Result<Arc<Self>, HookConfigError>
    where
        L: Layer<Inside, Service = S>,
    {
        Ok(Arc::new(Self::new(Scope::parse("tower", Some(tool))?, layer)))
    }

    fn new<L>(scope: Scope, layer: L) -> Self
    where
        L: Layer<Inside, Service = S>,
    {
        Self { scope, service: Mutex::new(layer.layer(Inside)) }
    }
}

impl Service<AroundRequest> for Inside {
    type Response = Settlement;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Settlement, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AroundRequest) -> Self::Future {
        async move {
            let (start, ended) = oneshot::channel();
            // Both fail only when the hook is gone, and then nobody sees what is returned.
            let _ = request.starts.send(start);
            Ok(ended.await.map_err(|_| HookError::Interrupted)??)
        }
        .boxed()
    }
}

#[async_trait]
impl<S> Around for TowerHook<S>
where
    S: Service<AroundRequest, Response = Settlement, Error: Into<BoxError>, Future: Send> + Send,
{
    async fn around(&self, call: &AroundCall, next: Next<'_>) -> Result<Settlement, HookError> {
        if !self.scope.covers(call.definition()) {
            return next.run().await;
        }
        let (starts, mut wanted) = mpsc::unbounded_channel();
        let mut through = pin!(self.through(AroundRequest { call: Arc::new(call.clone()), starts }));
        let mut ran = Ran { begun: Instant::now(), last: None };
        loop {
            let mut start = tokio::select! {
                biased;
                result = &mut through => return ran.conclude(call, next, result),
                Some(start) = wanted.recv() => start,
            };
            tokio::select! {
                biased;
                result = &mut through => return ran.conclude(call, next, result),
                // A layer inside of others gave up, and they may go on.
                () = start.closed() => {}
                result = next.run() => {
                    ran.last = Some(result.clone());
                    let _ = start.send(result);
                }
            }
        }
    }
}

impl<S> TowerHook<S>
where
    S: Service<AroundRequest, Response = Settlement, Error: Into<BoxError>>,
{
    async fn through(&self, request: AroundRequest) -> Result<Settlement, BoxError> {
        let mut service = self.service.lock().await;
        poll_fn(|context| service.poll_ready(context)).await.map_err(Into::into)?;
        let response = service.call(request);
        drop(service);
        response.await.map_err(Into::into)
    }
}

/// What became of what is inside the hook.
struct Ran {
    begun: Instant,
    last: Option<Result<Settlement, HookError>>,
}

impl Ran {
    /// What the error of a layer means.
    fn conclude(
        self,
        call: &AroundCall,
        next: Next<'_>,
        result: Result<Settlement, BoxError>,
    ) -> Result<Settlement, HookError> {
        let error = match (result, self.last) {
            (Ok(settlement), _) => return Ok(settlement),
            // Whatever the layers made of it: what is inside says why it failed.
            (Err(_), Some(Err(inside))) => return Err(inside),
            // The tool was done when the layers ran out of time.
            (Err(error), Some(Ok(settlement))) if has::<Elapsed>(&*error) => return Ok(settlement),
            (Err(error), _) => error,
        };
        let name = &call.definition().name;
        if has::<Elapsed>(&*error) && next.has_begun() {
            return Ok(timed_out(call, self.begun));
        }
        if has::<Elapsed>(&*error) || has::<Overloaded>(&*error) && !next.has_begun() {
            let text =
                format!("The tool `{name}` is busy, so this call was not executed. It may be tried again later.");
            return Ok(call.refused(Code::RateLimited, text));
        }
        tracing::error!(tool = %name, "a layer of a hook failed");
        Err(HookError::new(format!("a layer failed: {error}")))
    }
}

fn timed_out(call: &AroundCall, begun: Instant) -> Settlement {
    let definition = call.definition();
    let effect = if definition.metadata.repeat.may_repeat() { "" } else { " It may have taken effect." };
    let text = format!("The tool `{}` did not finish in time.{effect}", definition.name);
    Settlement {
        outcome: Outcome::TimedOut,
        code: Some(Code::TimedOut),
        source: Some(Source::Tool),
        result: Arc::new(ToolResult::error(text)),
        latency_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
    }
}

/// Whether it is such an error, or came from one.
fn has<E: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(<dyn Error>::is::<E>)
}
