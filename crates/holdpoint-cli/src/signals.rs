//! Ctrl-C and SIGTERM: what is under way comes to its end.

use std::io;

use tokio_util::sync::CancellationToken;

/// Says and passes on that the process was told to end. A second signal ends it at once.
#[cfg(unix)]
pub(crate) fn ends(shutdown: CancellationToken) -> io::Result<tokio::task::JoinHandle<()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        eprintln!("ending: finishing what was begun");
        shutdown.cancel();
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        eprintln!("ended at once: whoever looks after the store goes on with what was begun");
        std::process::exit(1);
    }))
}

/// Says and passes on that the process was told to end.
#[cfg(not(unix))]
pub(crate) fn ends(shutdown: CancellationToken) -> io::Result<tokio::task::JoinHandle<()>> {
    Ok(tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            eprintln!("ending: finishing what was begun");
            shutdown.cancel();
        }
    }))
}
