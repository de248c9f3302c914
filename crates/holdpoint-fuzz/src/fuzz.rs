//! Draws plans until the time is over or a target fails.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::plan::plans;
use crate::{Plan, Target, mutated};

/// How many plans are drawn between two looks at the clock.
const CASES: u32 = 64;

/// Far more than any input takes, so that a busy machine does not look like a finding.
const INPUT_TIME_MAX: Duration = Duration::from_secs(5);

/// What is fuzzed, from where, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// What.
    pub target: Target,
    /// The plans follow from it: the same seed draws the same plans.
    pub seed: u64,
    /// For how long.
    pub until: Until,
}

/// For how long a target is fuzzed.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// So much time.
    Elapsed(Duration),
    /// So many inputs, or a few more.
    Inputs(u64),
}

/// An input that a target failed on.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The smallest plan that was found.
    pub plan: Plan,
    /// What it makes.
    pub bytes: Vec<u8>,
    /// What was wrong.
    pub reason: String,
}

/// Fuzzes a target. Returns how many inputs it got.
///
/// # Errors
/// The first input that it failed on.
pub fn fuzz(session: Session) -> Result<u64, Box<Finding>> {
    let corpus = session.target.corpus();
    search(&corpus, session, |bytes| session.target.check(bytes))
}

fn search(
    corpus: &[Vec<u8>],
    session: Session,
    check: impl Fn(&[u8]) -> Result<(), String>,
) -> Result<u64, Box<Finding>> {
    let (start, plans, inputs) = (Instant::now(), plans(), Cell::new(0));
    for batch in 0.. {
        let over = match session.until {
            Until::Elapsed(time) => start.elapsed() >= time,
            Until::Inputs(count) => inputs.get() >= count,
        };
        if over {
            break;
        }
        let outcome = runner(session.seed, batch).run(&plans, |plan| {
            inputs.set(inputs.get() + 1);
            let bytes = mutated(corpus, &plan);
            timed(|| check(&bytes)).map_err(TestCaseError::fail)
        });
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, plan)) => {
                let bytes = mutated(corpus, &plan);
                return Err(Box::new(Finding { plan, bytes, reason: reason.to_string() }));
            }
            // Only tests that throw inputs away can be aborted; no target does.
            Err(TestError::Abort(_)) => break,
        }
    }
    Ok(inputs.get())
}

/// Whoever hands in a small file must not keep us busy with it.
fn timed(check: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let start = Instant::now();
    check()?;
    let took = start.elapsed();
    if took < INPUT_TIME_MAX { Ok(()) } else { Err(format!("one input took {} ms", took.as_millis())) }
}

/// A runner counts to its number of cases once, so that each batch has one of its own.
fn runner(seed: u64, batch: u64) -> TestRunner {
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&batch.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[cfg(test)]
mod tests;
