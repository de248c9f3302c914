//! Directed cases, many of each: a process is suspended beyond its lease, its link to the store is held or cut, a worker
//! completes a task as its lease lapses, answers come late and again. Each has a run and an agent of its own.

mod answers;
mod case;
mod field;
mod links;
mod party;
mod proxy;
mod races;
mod stops;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, ValueEnum};
use futures_util::{StreamExt, stream};
use serde_json::{Map, Value, json};

use crate::broken::Break;
use crate::dice::{Dice, mix};
use crate::torture::Database;
use case::{Case, Found};
use field::Field;
pub(crate) use party::Party;

/// How long a case may take.
const CASE_MAX: Duration = Duration::from_secs(60);

/// Runs directed cases of faults and checks each with the ledger.
#[derive(Args, Clone, Debug)]
pub(crate) struct Campaign {
    /// The address of an empty store, or `sqlite` or `postgres`, as for `torture`.
    #[arg(long)]
    store: String,
    /// How many cases of each kind.
    #[arg(long, default_value_t = 10)]
    each: u64,
    /// Only these kinds.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Kind>,
    /// How many cases at once.
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// Decides about moments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Switches a guarantee off, so that the campaign must fail.
    #[arg(long = "break")]
    broken: Option<Break>,
}

/// A kind of case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A process is stopped with SIGSTOP beyond its lease, another takes over, and the first goes on.
    Stops,
    /// The answers of the store are held back, or the link is cut and restored.
    Links,
    /// A worker completes a task at the moment at which its lease lapses.
    Races,
    /// Answers to an earlier question come late and repeatedly while the call is in doubt.
    Answers,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Stops, Kind::Links, Kind::Races, Kind::Answers];

    fn as_str(self) -> &'static str {
        match self {
            Kind::Stops => "stops",
            Kind::Links => "links",
            Kind::Races => "races",
            Kind::Answers => "answers",
        }
    }
}

impl Campaign {
    pub(crate) async fn run(self) -> anyhow::Result<ExitCode> {
        let folder = std::env::temp_dir().join(format!("holdpoint-campaign-{}", uuid::Uuid::now_v7()));
        std::fs::create_dir_all(&folder).context("the work folder")?;
        let database = Database::prepare(&self.store, &folder).await?;
        let field = Field::open(&folder, &database.url, self.broken).await?;
        let kinds = if self.only.is_empty() { Kind::ALL.to_vec() } else { self.only.clone() };
        let mut summary = Map::new();
        let mut violations = Vec::new();
        for kind in kinds {
            let (counts, found) = self.fight(&field, kind).await?;
            writeln!(std::io::stderr(), "{} on {}: {counts}", kind.as_str(), self.kind_of_store())?;
            summary.insert(kind.as_str().to_owned(), counts);
            violations.extend(found);
        }
        let said = json!({
            "store": self.kind_of_store(),
            "seed": self.seed,
            "cases": summary,
            "violations": violations.len(),
        });
        writeln!(std::io::stdout(), "{said}")?;
        field.close();
        database.close().await?;
        if violations.is_empty() {
            std::fs::remove_dir_all(&folder)?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut err = std::io::stderr();
        violations.iter().try_for_each(|violation| writeln!(err, "- {violation}"))?;
        writeln!(err, "the ledger is in {}", folder.display())?;
        Ok(ExitCode::FAILURE)
    }

    /// The address may hold a password.
    fn kind_of_store(&self) -> &str {
        self.store.split(':').next().unwrap_or_default()
    }

    async fn fight(&self, field: &Arc<Field>, kind: Kind) -> anyhow::Result<(Value, Vec<String>)> {
        let began = Instant::now();
        let cases = (0..self.each).map(|number| {
            let name = format!("{}-{number}", kind.as_str());
            let dice = Dice::new(mix(&[self.seed, kind as u64, number]));
            one(Arc::clone(field), kind, name, dice)
        });
        let found: Vec<anyhow::Result<Found>> =
            stream::iter(cases).buffer_unordered(self.at_once.max(1)).collect().await;
        let (mut counts, mut violations) = (Found::default(), Vec::new());
        for found in found {
            let mut found = found?;
            violations.append(&mut found.violations);
            counts.add(&found);
        }
        let counted = json!({
            "cases": self.each,
            "takeovers": counts.takeovers,
            "doubts": counts.doubts,
            "begins": counts.begins,
            "acknowledged": counts.acknowledged,
            "rejected": counts.rejected,
            "evidence": counts.evidence,
            "violations": violations.len(),
            "seconds": began.elapsed().as_secs(),
        });
        Ok((counted, violations))
    }
}

async fn one(field: Arc<Field>, kind: Kind, name: String, dice: Dice) -> anyhow::Result<Found> {
    let case = Case::new(&field, name.clone(), dice)?;
    let fought = async {
        match kind {
            Kind::Stops => stops::fight(case).await,
            Kind::Links => links::fight(case).await,
            Kind::Races => races::fight(case).await,
            Kind::Answers => answers::fight(case).await,
        }
    };
    match tokio::time::timeout(CASE_MAX, fought).await {
        Ok(found) => found.with_context(|| format!("case {name}")),
        Err(_) => Ok(Found::violation(format!("{name}: it took more than {CASE_MAX:?}"))),
    }
}
