//! What is known of a call whose outcome is unknown, beside the moment of its start.

use std::sync::Arc;

use holdpoint_core::{Attempt, Doubt, DoubtCause, Evidence, Given, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Fault, Name, ResultWire, Text, Wire, all_core, all_of, is_one, one};

/// A doubt. What is absent is as after the crash of a first attempt.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct DoubtWire {
    #[serde(default = "one", skip_serializing_if = "is_one")]
    attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asks: Option<ResultWire>,
    #[serde(default = "crashed", skip_serializing_if = "is_crashed")]
    cause: Name<DoubtCause>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<EvidenceWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<Text>,
}

/// What a person said to what a tool asked.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct GivenWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<ResultWire>,
    asks: ResultWire,
}

impl Wire for GivenWire {
    type Core = Given;

    fn of(given: &Given) -> Self {
        Self { answer: given.answer.as_deref().map(ResultWire::of), asks: ResultWire::of(&given.asks) }
    }

    fn core(self) -> Result<Given, Fault> {
        let answer = self.answer.map(Wire::core).transpose().map_err(|fault| fault.within("answer"))?;
        let asks = self.asks.core().map_err(|fault| fault.within("asks"))?;
        Ok(Given { asks: Arc::new(asks), answer: answer.map(Arc::new) })
    }
}

/// A result that came too late to count.
#[derive(Serialize, Deserialize, Clone, PartialEq)]
pub(crate) struct EvidenceWire {
    at_us: i64,
    attempt: u32,
    result: ResultWire,
    worker: Text,
}

fn crashed() -> Name<DoubtCause> {
    Name(DoubtCause::Crashed)
}

fn is_crashed(cause: &Name<DoubtCause>) -> bool {
    cause.0 == DoubtCause::Crashed
}

impl Default for DoubtWire {
    fn default() -> Self {
        Self { attempt: one(), asks: None, cause: crashed(), evidence: Vec::new(), worker: None }
    }
}

impl DoubtWire {
    pub(crate) fn of(doubt: &Doubt) -> Self {
        Self {
            attempt: doubt.attempt.0,
            asks: doubt.asks.as_deref().map(ResultWire::of),
            cause: Name(doubt.cause),
            evidence: all_of(&doubt.evidence),
            worker: doubt.worker.as_ref().map(Text::share),
        }
    }

    /// Back, with the moment of the start, which stands beside it.
    pub(crate) fn core(self, started_at: Timestamp) -> Result<Doubt, Fault> {
        Ok(Doubt {
            started_at,
            cause: self.cause.0,
            worker: self.worker.map(|text| text.0),
            attempt: Attempt(self.attempt),
            evidence: all_core(self.evidence, "evidence")?,
            asks: self.asks.map(Wire::core).transpose().map_err(|fault| fault.within("asks"))?.map(Arc::new),
        })
    }
}

impl Wire for EvidenceWire {
    type Core = Evidence;

    fn of(evidence: &Evidence) -> Self {
        Self {
            at_us: evidence.at.0,
            attempt: evidence.attempt.0,
            result: ResultWire::of(&evidence.result),
            worker: Text::share(&evidence.worker),
        }
    }

    fn core(self) -> Result<Evidence, Fault> {
        Ok(Evidence {
            attempt: Attempt(self.attempt),
            worker: self.worker.0,
            result: Arc::new(self.result.core().map_err(|fault| fault.within("result"))?),
            at: Timestamp(self.at_us),
        })
    }
}
