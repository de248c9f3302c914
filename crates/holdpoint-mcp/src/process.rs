//! A server as a child process: a clean environment, a process group of its own, and nothing of what it says on its error
//! output but how much it was.

use std::ffi::OsString;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use holdpoint_config::ExposeSecret;
use holdpoint_programs::{Input, Pipes, Program, Running};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio_util::sync::CancellationToken;

use crate::host::Host;
use crate::{ConnectProblem, ServerConfig, ServerName};

/// How long a program may take to end by itself after its input was closed.
const EXIT_WAIT: Duration = Duration::from_secs(2);
/// How much of the error output is read at once, and how much of it is ever held.
const STDERR_CHUNK_BYTES: usize = 8 * 1024;

/// A program that was started, spoken to over its input and output.
pub(crate) struct ProcessTransport {
    wire: AsyncRwTransport<RoleClient, Limited<ChildStdout>, ChildStdin>,
    group: Group,
    ended: CancellationToken,
}

/// What becomes known when a connection ends.
#[derive(Clone)]
pub(crate) struct Ending {
    /// Cancelled as soon as nothing more can come.
    pub(crate) ended: CancellationToken,
    /// Whether a message above the limit was the reason.
    pub(crate) too_large: Arc<AtomicBool>,
}

impl Ending {
    pub(crate) fn new() -> Self {
        Self { ended: CancellationToken::new(), too_large: Arc::default() }
    }

    /// A message above the limit came: what was in it is lost, so nothing that waits on this connection is answered.
    pub(crate) fn message_too_large(&self) {
        self.too_large.store(true, Ordering::Relaxed);
        self.ended.cancel();
    }

    pub(crate) fn problem(&self) -> ConnectProblem {
        if self.too_large.load(Ordering::Relaxed) { ConnectProblem::MessageTooLarge } else { ConnectProblem::Closed }
    }
}

/// Counts the bytes of one message of a stream.
pub(crate) struct MessageLimit {
    bytes: usize,
    max_bytes: usize,
    newlines: usize,
    /// How many newlines in a row end a message; carriage returns between them do not count.
    newlines_at_end: usize,
}

impl MessageLimit {
    pub(crate) fn new(max_bytes: usize, newlines_at_end: usize) -> Self {
        Self { bytes: 0, max_bytes, newlines: 0, newlines_at_end }
    }

    /// Whether the message that is read is still short enough after these bytes.
    pub(crate) fn fits(&mut self, chunk: &[u8]) -> bool {
        for byte in chunk {
            self.bytes += 1;
            self.newlines = match byte {
                b'\n' => self.newlines + 1,
                b'\r' => self.newlines,
                _ => 0,
            };
            if self.bytes > self.max_bytes {
                return false;
            }
            if self.newlines >= self.newlines_at_end {
                (self.bytes, self.newlines) = (0, 0);
            }
        }
        true
    }
}

/// Starts the program of a server.
pub(crate) async fn start(
    host: &Host,
    name: &ServerName,
    config: &ServerConfig,
    ending: &Ending,
) -> Result<ProcessTransport, ConnectProblem> {
    let program = program(config)?;
    let mut running = program.start().await.map_err(|_| ConnectProblem::NotStarted)?;
    let Pipes { stdin: Some(stdin), stdout: Some(stdout), stderr: Some(stderr) } = running.pipes() else {
        return Err(ConnectProblem::NotStarted);
    };
    let (log, name) = (host.clone(), name.clone());
    host.spawn(async move {
        let (lines, bytes) = count(stderr).await;
        log.say(|| tracing::info!(target: "holdpoint", server = %name, lines, bytes, "an MCP server ended its error output"));
    });
    let limit = MessageLimit::new(config.max_message_bytes, 1);
    let limited = Limited { read: stdout, limit, exceeded: Arc::clone(&ending.too_large) };
    // Our own limit ends the connection before the library's would drop a message that somebody waits for.
    let wire = AsyncRwTransport::new(limited, stdin).with_max_line_length(config.max_message_bytes.saturating_add(1));
    Ok(ProcessTransport { wire, group: Group::new(host, running), ended: ending.ended.clone() })
}

fn program(config: &ServerConfig) -> Result<Program, ConnectProblem> {
    let (program, arguments) = config.command.split_first().ok_or(ConnectProblem::NotStarted)?;
    let passed = config.env.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    let mut environment: Vec<(OsString, OsString)> = passed.collect();
    for (name, source) in &config.env_from {
        let secret = source.read().map_err(|_| ConnectProblem::Secret)?;
        environment.push((name.into(), secret.expose_secret().into()));
    }
    Ok(Program {
        arguments: arguments.iter().map(Into::into).collect(),
        folder: config.cwd.clone(),
        environment,
        stdin: Input::Piped,
        ..Program::new(program)
    })
}

/// How many lines and bytes came, until the end.
async fn count(mut stderr: ChildStderr) -> (u64, u64) {
    let mut chunk = vec![0; STDERR_CHUNK_BYTES];
    let (mut lines, mut bytes) = (0, 0);
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        lines += chunk[..read].iter().filter(|byte| **byte == b'\n').count() as u64;
        bytes += read as u64;
    }
    (lines, bytes)
}

impl Transport<RoleClient> for ProcessTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.wire.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.wire.receive().await;
        if message.is_none() {
            self.ended.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.ended.cancel();
        let closed = self.wire.close().await;
        self.group.end().await;
        closed
    }
}

/// A program whose number its host knows, so that it is killed also when the thread of the host hangs.
struct Group {
    host: Host,
    running: Running,
    leader: Option<u32>,
}

impl Group {
    fn new(host: &Host, running: Running) -> Self {
        let leader = running.id();
        leader.into_iter().for_each(|leader| host.groups().add(leader));
        Self { host: host.clone(), running, leader }
    }

    /// Waits for the program to end by itself, for a while.
    async fn end(&mut self) {
        let _ = tokio::time::timeout(EXIT_WAIT, self.running.wait()).await;
    }
}

impl Drop for Group {
    /// The program is killed when what is left of it is dropped.
    fn drop(&mut self) {
        self.leader.into_iter().for_each(|leader| self.host.groups().forget(leader));
    }
}

/// Ends the stream when one line is too long.
struct Limited<R> {
    read: R,
    limit: MessageLimit,
    exceeded: Arc<AtomicBool>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Limited<R> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut this.read).poll_read(context, buffer))?;
        let fits = match buffer.filled().get(before..) {
            Some(bytes) => this.limit.fits(bytes),
            None => true,
        };
        if fits {
            return Poll::Ready(Ok(()));
        }
        this.exceeded.store(true, Ordering::Relaxed);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "a message is above the limit")))
    }
}
