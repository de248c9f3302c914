//! Benchmarks: each prints JSON lines, with the bound that it is held against and, where there is one, the plain
//! alternative measured in the same run.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod calls;
mod continuation;
mod durable;
mod hooks;
mod instructions;
mod parts;
mod plot;
mod served;
mod server;
mod turn;

use std::process::Command;

use clap::{Parser, ValueEnum};

use served::Served;

/// Measures Holdpoint.
#[derive(Debug, Parser)]
#[command(name = "holdpoint-bench")]
struct Arguments {
    /// What to measure.
    #[arg(value_enum, default_value_t = Bench::All)]
    bench: Bench,
    /// How often; more is steadier.
    #[arg(long, default_value_t = 2_000)]
    iterations: u32,
    /// For `spin`: how many calls each run has.
    #[arg(long, default_value_t = 1, hide = true)]
    calls: usize,
    #[command(flatten)]
    durable: durable::DurableArguments,
    #[command(flatten)]
    served: served::ServedArguments,
    #[command(flatten)]
    server: server::ServerArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Bench {
    /// One turn with one tool that does nothing.
    Turn,
    /// One turn with 1 to 1,000 calls.
    Calls,
    /// Export and import of a signed continuation, beside plain serde_json.
    Continuation,
    /// What a paused run holds in the memory store.
    Memory,
    /// Hooks around a call.
    Hooks,
    /// Durable pauses, beside bare commits of the same database; storage, memory and queue. Needs `--store`.
    #[value(name = "d")]
    Durable,
    /// Wall and CPU per turn against a server, less a bare client. Needs `--base-url`, as all below do.
    #[value(name = "a")]
    Overhead,
    /// Sixteen calls of 50 ms in one turn.
    #[value(name = "b")]
    Parallel,
    /// Pause, serialise, deserialise, resume, with a history of 10, 100 and 1,000 messages.
    #[value(name = "c")]
    Pause,
    /// Complete runs per second, 64 at once.
    #[value(name = "e")]
    Throughput,
    /// Memory per paused run, with 10,000 of them.
    #[value(name = "f")]
    PausedMemory,
    /// From the start of a process to its first request.
    #[value(name = "g")]
    Cold,
    /// One run without a call, and nothing else: what `g` starts.
    #[value(name = "cold")]
    ColdOnce,
    /// What the OpenAI provider adds to a bare client that sends the same bodies.
    ModelOverhead,
    /// The HTTP server: runs beside a bare handler, open streams, the start of the program and its size.
    Server,
    /// Instructions of a run, counted by valgrind's callgrind.
    Instructions,
    /// Draws JSON lines from standard input as an SVG.
    Plot,
    /// Runs and measures nothing, for profilers.
    Spin,
    /// Turn, calls, continuation, memory and hooks: what needs neither a database nor a server.
    All,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let wanted = |bench| arguments.bench == bench || arguments.bench == Bench::All;
    match arguments.bench {
        Bench::Instructions => return instructions::measure(),
        Bench::Durable => return durable::measure(&arguments.durable),
        Bench::Overhead => return served::measure(Served::Overhead, &arguments.served),
        Bench::Parallel => return served::measure(Served::Parallel, &arguments.served),
        Bench::Pause => return served::measure(Served::Pause, &arguments.served),
        Bench::Throughput => return served::measure(Served::Throughput, &arguments.served),
        Bench::PausedMemory => return served::measure(Served::PausedMemory, &arguments.served),
        Bench::Cold => return served::measure(Served::Cold, &arguments.served),
        Bench::ColdOnce => return served::measure(Served::ColdOnce, &arguments.served),
        Bench::ModelOverhead => return served::measure(Served::Provider, &arguments.served),
        Bench::Server => return server::measure(&arguments.server, &arguments.durable),
        Bench::Plot => {
            print!("{}", plot::draw(&std::io::read_to_string(std::io::stdin())?));
            return Ok(());
        }
        Bench::Turn | Bench::Calls | Bench::Continuation | Bench::Memory | Bench::Hooks | Bench::Spin | Bench::All => {}
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        if arguments.bench == Bench::Spin {
            turn::spin(arguments.calls, arguments.iterations).await?;
        }
        if wanted(Bench::Turn) {
            turn::measure(arguments.iterations).await?;
        }
        if wanted(Bench::Calls) {
            calls::measure().await?;
        }
        if wanted(Bench::Continuation) {
            continuation::measure().await?;
        }
        if wanted(Bench::Memory) {
            measure_memory()?;
        }
        if wanted(Bench::Hooks) {
            hooks::measure().await?;
        }
        Ok(())
    })
}

/// The program beside this one, whose allocator counts.
fn measure_memory() -> anyhow::Result<()> {
    let program = std::env::current_exe()?.with_file_name("holdpoint-bench-memory");
    let status = Command::new(&program).status();
    let status =
        status.map_err(|error| anyhow::anyhow!("holdpoint-bench-memory must be built beside this: {error}"))?;
    anyhow::ensure!(status.success(), "holdpoint-bench-memory failed");
    Ok(())
}
