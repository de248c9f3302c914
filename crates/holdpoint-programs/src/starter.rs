//! The thread that starts programs. It lives as long as the process: the kernel takes its end for the death of the parent.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

struct Order {
    command: Command,
    is_wanted: IsWanted,
    /// The runtime that waits for the program.
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Option<Child>>>,
}

/// Asked right before the start.
type IsWanted = Box<dyn Fn() -> bool + Send>;

fn starter() -> Option<mpsc::Sender<Order>> {
    static STARTER: OnceLock<Option<Mutex<mpsc::Sender<Order>>>> = OnceLock::new();
    let sender = STARTER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        let body = move || {
            for Order { mut command, is_wanted, runtime, reply } in orders {
                // Whoever wanted it is gone, so it is not wanted.
                if reply.is_closed() {
                    continue;
                }
                let _entered = runtime.enter();
                // A runtime that shuts down panics; this thread must not die of it, and every program with it.
                let started = catch_unwind(AssertUnwindSafe(|| is_wanted().then(|| command.spawn()).transpose()));
                // Whoever wanted it may be gone: then it is killed when it is dropped.
                let _ = reply.send(started.unwrap_or_else(|_| Err(io::Error::other("the runtime shuts down"))));
            }
        };
        let thread = std::thread::Builder::new().name("holdpoint-start".to_owned()).spawn(body);
        thread.ok().map(|_| Mutex::new(sender))
    });
    let sender = sender.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    Some(sender.clone())
}

/// Nothing if it was not wanted any more.
pub(crate) async fn spawn(command: Command, is_wanted: IsWanted) -> io::Result<Option<Child>> {
    let gone = || io::Error::other("the thread that starts programs is gone");
    let (reply, started) = oneshot::channel();
    let order = Order { command, is_wanted, runtime: Handle::current(), reply };
    starter().ok_or_else(gone)?.send(order).map_err(|_| gone())?;
    started.await.map_err(|_| gone())?
}
