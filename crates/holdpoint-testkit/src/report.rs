//! What a scenario came to.

use std::fmt;

use holdpoint_config::ConfigError;
use serde::Serialize;
use serde_json::{Value, json};

use crate::expect::Difference;

/// What one file came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file, as it was named.
    pub file: String,
    /// The scenario's name; the file's when it could not be read.
    pub name: String,
    /// How it went.
    pub verdict: Verdict,
}

/// How a scenario went.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything was as expected.
    Held,
    /// Something was not.
    Failed {
        /// Which step, from 1, and what it does; none when it is about the scenario as a whole.
        step: Option<(usize, &'static str)>,
        /// What was not as expected.
        difference: Difference,
    },
    /// The file is not a scenario, or has something that is not supported.
    NotAScenario(ConfigError),
}

/// What all files came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many held.
    pub held: usize,
    /// How many failed.
    pub failed: usize,
    /// How many are not scenarios.
    pub not_scenarios: usize,
}

impl Summary {
    /// Counts reports.
    pub fn of(reports: &[Report]) -> Self {
        let mut summary = Self::default();
        for report in reports {
            *match report.verdict {
                Verdict::Held => &mut summary.held,
                Verdict::Failed { .. } => &mut summary.failed,
                Verdict::NotAScenario(_) => &mut summary.not_scenarios,
            } += 1;
        }
        summary
    }

    /// 0 when all hold, 1 when one fails, 2 when one is not a scenario.
    pub fn exit_code(self) -> u8 {
        match (self.not_scenarios, self.failed) {
            (0, 0) => 0,
            (0, _) => 1,
            _ => 2,
        }
    }
}

impl Report {
    /// Whether it held.
    pub fn ok(&self) -> bool {
        matches!(self.verdict, Verdict::Held)
    }

    /// The stable JSON form on one line: the same keys always, in this order.
    pub fn to_json(&self) -> String {
        let (step, path, expected, seen) = match &self.verdict {
            Verdict::Held => (None, None, Value::Null, Value::Null),
            Verdict::Failed { step, difference } => (
                step.map(|(number, _)| number),
                Some(difference.path.clone()),
                difference.expected.clone(),
                difference.seen.clone(),
            ),
            Verdict::NotAScenario(error) => {
                let key = error.problem().map(|problem| problem.path().to_string());
                (None, key, json!("a scenario"), json!(error.to_string()))
            }
        };
        let Report { file, name, .. } = self;
        let line = Line { file, name, ok: self.ok(), step, path, expected, seen };
        // Nothing in it can fail to be written.
        serde_json::to_string(&line).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    name: &'a str,
    ok: bool,
    step: Option<usize>,
    path: Option<String>,
    expected: Value,
    seen: Value,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.verdict {
            Verdict::Held => write!(f, "ok {}", self.name),
            Verdict::Failed { step, difference } => {
                write!(f, "FAILED {}", self.name)?;
                if let Some((number, name)) = step {
                    write!(f, "\n  step {number} ({name})")?;
                }
                let Difference { path, expected, seen } = difference;
                write!(f, "\n  path {path}\n  expected {expected}\n  seen {seen}")
            }
            Verdict::NotAScenario(error) => {
                write!(f, "FAILED {}\n  {}", self.name, error.to_string().replace('\n', "\n  "))
            }
        }
    }
}
