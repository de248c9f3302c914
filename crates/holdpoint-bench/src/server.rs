//! The HTTP server: what a run costs beside a bare handler that commits once, what open streams cost, how soon the program is
//! ready, and how large it is.

mod bare;
mod front;
mod program;
mod runs;
mod start;
mod streams;
mod writes;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::durable::DurableArguments;
use crate::durable::database::Place;

/// Which server, and what of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerArguments {
    /// For `server`: the program `holdpoint`; the one beside this program unless said otherwise.
    #[arg(long)]
    program: Option<PathBuf>,
    /// For `server`: only one part of it.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// For `server`: how many streams are open.
    #[arg(long, default_value_t = 2_000)]
    streams: usize,
}

/// A part of the measurements of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Runs, beside a bare handler.
    Runs,
    /// Open streams.
    Streams,
    /// From the start of the program until it is ready.
    Start,
    /// The size of the program.
    Size,
}

impl ServerArguments {
    fn wants(&self, part: Only) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    fn program(&self) -> anyhow::Result<PathBuf> {
        let beside = || anyhow::Ok(std::env::current_exe()?.with_file_name("holdpoint"));
        let program = self.program.clone().map_or_else(beside, Ok)?;
        anyhow::ensure!(
            program.is_file(),
            "there is no `{}`; hint: build it, or name it with `--program`",
            program.display()
        );
        Ok(program)
    }
}

/// Measures on as many threads as there are cores, as a server would run.
pub(crate) fn measure(arguments: &ServerArguments, durable: &DurableArguments) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure_parts(arguments, durable))
}

async fn measure_parts(arguments: &ServerArguments, durable: &DurableArguments) -> anyhow::Result<()> {
    let usual = std::env::temp_dir().join("runs.db");
    let usual = format!("sqlite:{}", usual.display());
    let place = Place::at(durable.store.as_deref().unwrap_or(&usual))?;
    let rounds = durable.rounds.max(1);
    if arguments.wants(Only::Runs) {
        runs::measure(&place, rounds).await?;
    }
    if arguments.wants(Only::Streams) {
        let program = arguments.program()?;
        streams::measure(&place, &streams::Plan { program, streams: arguments.streams, rounds }).await?;
    }
    if arguments.wants(Only::Start) {
        start::measure(&place, &arguments.program()?, rounds).await?;
    }
    if arguments.wants(Only::Size) {
        start::measure_size(&arguments.program()?)?;
    }
    Ok(())
}
