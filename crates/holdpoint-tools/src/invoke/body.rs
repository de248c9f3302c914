//! The body of a tool in its place, with its limit.

use std::any::Any;
use std::panic::catch_unwind;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use holdpoint_core::ToolResult;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument, Span};

use super::{Invocation, Invoke, Place, checked};
use crate::{Blocking, Gate, ThreadPool, Tool, ToolCall, ToolError, ToolFault};

/// How long a call waits for a thread. Others have limits of their own, so a longer wait means that too much hangs.
const THREAD_WAIT: Duration = Duration::from_secs(60);

/// How a body ended.
pub(super) enum Ended {
    Returned(Result<ToolResult, ToolError>),
    TimedOut(Duration),
    Cancelled,
}

/// How a body ended, and how long it took.
pub(super) struct Done {
    pub(super) ended: Ended,
    pub(super) latency: Duration,
}

pub(super) async fn run(invocation: &Invocation, gate: Gate) -> Done {
    let limit = invocation.limit();
    // A runtime without a timer panics when one is made.
    let timed = |handle| Some((handle, catch_unwind(|| sleep(limit)).ok()?));
    let Some((handle, timer)) = Handle::try_current().ok().and_then(timed) else {
        return Done::not_started(ToolFault::NoRuntime, "there is no async runtime with a timer");
    };
    let (tool, run) = (Arc::clone(&invocation.tool), invocation.call.cancellation().clone());
    let stop = run.child_token();
    // Tells the tool that nobody waits any more, however the wait ended.
    let _stop = stop.clone().drop_guard();
    let call = invocation.call.clone().with_cancellation(stop).with_gate(Arc::clone(&gate));
    let work = Work { tool, call, gate, limit, run, handle };
    match &invocation.place {
        Place::Task if work.tool.blocking() == Blocking::Yes => work.on_thread(ThreadPool::of_process()).await,
        Place::Threads(pool) => work.on_thread(pool).await,
        Place::Task => work.in_task(timer, None).await,
        Place::Custom(invoke) => work.in_task(timer, Some(Arc::clone(invoke))).await,
    }
}

struct Work {
    tool: Arc<dyn Tool>,
    call: ToolCall,
    gate: Gate,
    limit: Duration,
    /// The run's token, while the call has one below it.
    run: CancellationToken,
    handle: Handle,
}

impl Work {
    async fn in_task(self, timer: Sleep, custom: Option<Arc<dyn Invoke>>) -> Done {
        let Work { tool, call, gate, limit, run, handle } = self;
        let begun = Instant::now();
        let call = call.with_deadline(begun.checked_add(limit));
        // Made inside the task, since what makes the future may panic or block as well.
        let started = async move {
            match custom {
                _ if !gate() => Err(ToolError::not_started()),
                None => tool.call(call).await,
                Some(invoke) => invoke.invoke(tool, call).await,
            }
        };
        let task = AbortOnDropHandle::new(handle.spawn(started.in_current_span()));
        let ended = tokio::select! {
            biased;
            joined = task => match joined {
                Ok(result) => Ended::returned(result),
                Err(error) if error.is_panic() => Ended::panicked(error.into_panic().as_ref()),
                Err(_) => Ended::Cancelled,
            },
            () = run.cancelled() => Ended::Cancelled,
            () = timer => Ended::TimedOut(limit),
        };
        Done { ended: ended.seen_by(&run), latency: begun.elapsed() }
    }

    async fn on_thread(self, pool: &ThreadPool) -> Done {
        let Work { tool, call, gate, limit, run, handle } = self;
        let (started, has_started) = oneshot::channel();
        let span = Span::current();
        let submitted = pool.submit(move || {
            let _inside = (handle.enter(), span.enter());
            let begun = Instant::now();
            let _ = started.send(begun);
            let call = call.with_deadline(begun.checked_add(limit));
            let stop = call.cancellation().clone();
            if !gate() {
                return Some(Err(ToolError::not_started()));
            }
            block_on(async { stop.run_until_cancelled(tool.call(call)).await })
        });
        let saturated = || Done::not_started(ToolFault::Saturated, "too many tools hang");
        let Ok((_ticket, mut result)) = submitted else { return saturated() };
        let begun = tokio::select! {
            biased;
            begun = has_started => begun.unwrap_or_else(|_| Instant::now()),
            () = run.cancelled() => return Done { ended: Ended::Cancelled, latency: Duration::ZERO },
            () = sleep(THREAD_WAIT) => return saturated(),
        };
        let left = limit.saturating_sub(begun.elapsed());
        let ended = tokio::select! {
            biased;
            joined = &mut result => match joined {
                Ok(Ok(Some(result))) => Ended::returned(result),
                Ok(Err(payload)) => Ended::panicked(payload.as_ref()),
                Ok(Ok(None)) | Err(_) => Ended::Cancelled,
            },
            () = run.cancelled() => Ended::Cancelled,
            () = sleep(left) => Ended::TimedOut(limit),
        };
        Done { ended: ended.seen_by(&run), latency: begun.elapsed() }
    }
}

impl Done {
    fn not_started(fault: ToolFault, message: &str) -> Self {
        Self { ended: Ended::Returned(Err(ToolError::with_fault(fault, message))), latency: Duration::ZERO }
    }
}

impl Ended {
    fn returned(result: Result<ToolResult, ToolError>) -> Self {
        Self::Returned(result.and_then(checked))
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text =
            payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|text| &**text));
        Self::Returned(Err(ToolError::with_fault(ToolFault::Panicked, text.unwrap_or("the tool panicked"))))
    }

    /// A tool that gave up because the run was cancelled did not fail.
    fn seen_by(self, run: &CancellationToken) -> Self {
        match self {
            Ended::Returned(Err(error)) if error.fault() == ToolFault::Cancelled && run.is_cancelled() => {
                Ended::Cancelled
            }
            other => other,
        }
    }
}

/// Polls a future on this thread. Unlike the runtime's own, it lets a blocking tool enter a runtime itself.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
