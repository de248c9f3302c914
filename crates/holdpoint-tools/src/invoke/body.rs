//! The body of a tool in its place, with its limit.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use holdpoint_core::ToolResult;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::{Invocation, Place, checked};
use crate::{Blocking, Gate, ThreadPool, Tool, ToolCall, ToolError, ToolFault};

/// How long a call waits for a thread. Others have limits of their own, so a longer wait means that too much hangs.
const THREAD_WAIT: Duration = Duration::from_secs(60);

/// How a body ended.
pub(crate) enum Ended {
    Returned(Result<ToolResult, ToolError>),
    TimedOut(Duration),
    Cancelled,
    NoRuntime,
    /// The gate was closed.
    NotStarted,
}

/// How a body ended, and how long it took.
pub(crate) struct Done {
    pub(crate) ended: Ended,
    pub(crate) latency: Duration,
}

pub(crate) async fn run_body(invocation: Invocation, gate: Gate) -> Done {
    let limit = invocation.limit();
    let Ok(handle) = Handle::try_current() else { return Done::at_once(Ended::NoRuntime) };
    // A runtime without a timer panics when one is made.
    let Ok(timer) = std::panic::catch_unwind(AssertUnwindSafe(|| timer(limit))) else {
        return Done::at_once(Ended::NoRuntime);
    };
    let Invocation { tool, call, place, .. } = invocation;
    let run = call.cancellation().clone();
    let stop = StopOnDrop(run.child_token());
    let call = call.with_cancellation(stop.0.clone()).with_gate(Arc::clone(&gate));
    let work = Work { tool, call, gate, limit, run, handle };
    match place {
        Place::Task if work.tool.blocking() == Blocking::Yes => work.on_thread(ThreadPool::of_process()).await,
        Place::Threads(pool) => work.on_thread(&pool).await,
        Place::Task => work.in_task(timer, |tool, call| async move { tool.call(call).await }).await,
        Place::Custom(invoke) => {
            work.in_task(timer, move |tool, call| async move { invoke.invoke(tool, call).await }).await
        }
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
    async fn in_task<F, Fut>(self, timer: Sleep, body: F) -> Done
    where
        F: FnOnce(Arc<dyn Tool>, ToolCall) -> Fut + Send + 'static,
        Fut: Future<Output = Result<ToolResult, ToolError>> + Send + 'static,
    {
        let Work { tool, call, gate, limit, run, handle } = self;
        let begun = Instant::now();
        let call = call.with_deadline(begun.checked_add(limit));
        // Made inside the task, since what makes the future may panic or block as well.
        let started = async move { if gate() { Some(body(tool, call).await) } else { None } };
        let mut task = AbortOnDrop(handle.spawn(started.in_current_span()));
        let ended = tokio::select! {
            biased;
            joined = &mut task.0 => match joined {
                Ok(Some(result)) => Ended::returned(result),
                Ok(None) => Ended::NotStarted,
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
                return Thread::NotStarted;
            }
            match block_on(async { stop.run_until_cancelled(tool.call(call)).await }) {
                Some(result) => Thread::Returned(result),
                None => Thread::Cancelled,
            }
        });
        let Ok((_ticket, mut result)) = submitted else { return Done::at_once(Ended::saturated()) };
        let begun = tokio::select! {
            biased;
            begun = has_started => begun.unwrap_or_else(|_| Instant::now()),
            () = run.cancelled() => return Done::at_once(Ended::Cancelled),
            () = timer(THREAD_WAIT) => return Done::at_once(Ended::saturated()),
        };
        let left = limit.saturating_sub(begun.elapsed());
        let ended = tokio::select! {
            biased;
            joined = &mut result => match joined {
                Ok(Ok(Thread::Returned(result))) => Ended::returned(result),
                Ok(Ok(Thread::NotStarted)) => Ended::NotStarted,
                Ok(Err(payload)) => Ended::panicked(payload.as_ref()),
                Ok(Ok(Thread::Cancelled)) | Err(_) => Ended::Cancelled,
            },
            () = run.cancelled() => Ended::Cancelled,
            () = timer(left) => Ended::TimedOut(limit),
        };
        Done { ended: ended.seen_by(&run), latency: begun.elapsed() }
    }
}

/// What a thread did with a call.
enum Thread {
    Returned(Result<ToolResult, ToolError>),
    Cancelled,
    NotStarted,
}

impl Done {
    fn at_once(ended: Ended) -> Self {
        Self { ended, latency: Duration::ZERO }
    }
}

impl Ended {
    fn returned(result: Result<ToolResult, ToolError>) -> Self {
        match result {
            Err(error) if error.fault() == ToolFault::NotStarted => Self::NotStarted,
            result => Self::Returned(result.and_then(checked)),
        }
    }

    fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text =
            payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|text| &**text));
        Self::Returned(Err(ToolError::with_fault(ToolFault::Panicked, text.unwrap_or("the tool panicked"))))
    }

    fn saturated() -> Self {
        Self::Returned(Err(ToolError::with_fault(ToolFault::Saturated, "too many tools hang")))
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

fn timer(limit: Duration) -> Sleep {
    tokio::time::sleep(limit)
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Tells the tool that nobody waits any more, however the wait ended.
struct StopOnDrop(CancellationToken);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
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
