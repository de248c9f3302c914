//! One call of the current turn, and the record that remains of it.

use std::sync::Arc;

use crate::named::named;
use crate::{
    Actor, Arguments, Attempt, CallArguments, CallId, CallIndex, Code, Digest, Given, Named, Outcome, Question, Repeat,
    RequestedName, Source, Terms, Timestamp, ToolName, ToolResult, Turn,
};

/// What the registry knows of a tool that matters after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFacts {
    /// The registered name.
    pub name: ToolName,
    /// Whether it may be started again in doubt.
    pub repeat: Repeat,
    /// `native`, `mcp:SERVER`, `skills`, `http`, `command` or `worker`.
    pub source: Arc<str>,
    /// Stands for the whole definition: schema, description, kind, and what it runs or calls. Equal for equal definitions;
    /// `None` when it is not known.
    pub definition: Option<Arc<str>>,
}

impl ToolFacts {
    /// Whether a program of its own, or a server that its process started, does its calls.
    pub fn is_program(&self) -> bool {
        &*self.source == "command" || self.source.starts_with("mcp:")
    }
}

/// A call of the current turn.
#[derive(Clone, Debug)]
pub struct Call {
    /// The id that is shown.
    pub id: CallId,
    /// The provider's own id when it differs.
    pub provider_id: Option<Arc<str>>,
    /// What the model wrote.
    pub name: RequestedName,
    /// What is registered under that name.
    pub tool: Option<ToolFacts>,
    /// What would run or ran.
    pub arguments: CallArguments,
    /// Where it stands.
    pub state: CallState,
    /// How often it was started.
    pub attempts: Attempt,
    /// How people were involved.
    pub asked: Asked,
    /// How many questions about it were asked.
    pub questions: u32,
    /// The digest of the question that was answered last.
    pub answered: Option<Digest>,
    /// The terms of the last question whether it may run: they hold for every later question about it.
    pub terms: Terms,
    /// Which policy decided about what runs, if it can tell.
    pub policy: Option<Arc<str>>,
    /// Those who approved what runs, in order. Nobody when policy allowed it by itself.
    pub approvals: Vec<Actor>,
    /// Whether it was handed to somebody outside.
    pub deferred: bool,
    /// Whether policy was asked again when it was started or handed out.
    pub rechecked: bool,
    /// What a person said to what the tool asked: it goes with the next attempt.
    pub given: Option<Arc<Given>>,
}

named! {
    /// How people were involved in a call.
    pub enum Asked {
        /// Not at all.
        No = "no",
        /// A question was asked.
        Yes = "yes",
        /// Enough people approved.
        Approved = "approved",
    }
}

/// Where a call stands.
#[derive(Clone, Debug)]
pub enum CallState {
    /// Policy must be asked.
    Proposed,
    /// A person must answer: whether it may run, or, when the question carries a doubt, whether it did.
    AwaitingApproval(Question),
    /// It may run as soon as nothing holds it.
    Ready,
    /// It was started and has no result.
    Running {
        /// The current attempt: only its result is accepted.
        attempt: Attempt,
        /// When.
        started_at: Timestamp,
        /// The worker that had it, unless the process of the run itself does. Only between the events of one step.
        worker: Option<Arc<str>>,
    },
    /// Somebody outside must deliver its result.
    Deferred {
        /// The current attempt.
        attempt: Attempt,
        /// Past this moment nobody needs to do it.
        deadline: Option<Timestamp>,
    },
    /// Final.
    Settled(Settlement),
}

/// How a call was settled.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// How it ended.
    pub outcome: Outcome,
    /// Why, if it did not succeed.
    pub code: Option<Code>,
    /// Where the result came from; nobody's when no result was made.
    pub source: Option<Source>,
    /// What the model gets.
    pub result: Arc<ToolResult>,
    /// How long the tool took.
    pub latency_us: u64,
}

impl Call {
    /// The canonical arguments, if they could be understood.
    pub fn canonical(&self) -> Option<&Arguments> {
        self.arguments.canonical()
    }

    /// The terms under which people let it run. Nothing when nobody was asked.
    pub fn approved_terms(&self) -> Option<&Terms> {
        match self.asked {
            Asked::No => None,
            Asked::Yes | Asked::Approved => Some(&self.terms),
        }
    }

    /// Whether a program of its own, or a server that its process started, does it.
    pub fn is_program(&self) -> bool {
        self.tool.as_ref().is_some_and(ToolFacts::is_program)
    }

    /// The open question, if there is one.
    pub fn question(&self) -> Option<&Question> {
        match &self.state {
            CallState::AwaitingApproval(question) => Some(question),
            _ => None,
        }
    }

    /// When what it waits for is too late: the answer to its question, or the result of somebody outside.
    pub fn deadline(&self) -> Option<Timestamp> {
        match &self.state {
            CallState::AwaitingApproval(question) => question.deadline,
            CallState::Deferred { deadline, .. } => *deadline,
            CallState::Proposed | CallState::Ready | CallState::Running { .. } | CallState::Settled(_) => None,
        }
    }

    /// Whether the open question is about a doubt.
    pub fn is_uncertain(&self) -> bool {
        self.question().is_some_and(|question| question.doubt.is_some())
    }

    /// What the tool asks a person before it goes on, if the open question is that.
    pub fn asks(&self) -> Option<&Arc<ToolResult>> {
        self.question()?.doubt.as_ref()?.asks.as_ref()
    }

    /// How it was settled, if it was.
    pub fn settlement(&self) -> Option<&Settlement> {
        match &self.state {
            CallState::Settled(settlement) => Some(settlement),
            _ => None,
        }
    }

    /// What somebody outside brought, if it was handed out and they did.
    pub fn delivered(&self) -> Option<&Arc<ToolResult>> {
        let settlement = self.settlement().filter(|_| self.deferred)?;
        match settlement.source? {
            Source::External | Source::Tool | Source::Cache | Source::DryRun | Source::Hook => Some(&settlement.result),
            // What a person gave is an answer, not a result.
            Source::Person => None,
        }
    }

    /// What remains of it.
    pub fn record(&self, turn: Turn, index: CallIndex) -> CallRecord {
        let settlement = self.settlement();
        CallRecord {
            turn,
            index,
            id: self.id.clone(),
            name: self.name.clone(),
            tool: self.tool.as_ref().map(|facts| facts.name.clone()),
            progress: match settlement {
                Some(settlement) => Progress::Settled(settlement.outcome),
                None if self.is_uncertain() => Progress::Uncertain,
                None => Progress::Pending,
            },
            code: settlement.and_then(|settlement| settlement.code),
            source: settlement.and_then(|settlement| settlement.source),
            attempts: self.attempts,
            latency_us: settlement.map_or(0, |settlement| settlement.latency_us),
        }
    }
}

/// What a run remembers of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// Its turn.
    pub turn: Turn,
    /// Its place in the turn.
    pub index: CallIndex,
    /// The id that is shown.
    pub id: CallId,
    /// What the model wrote.
    pub name: RequestedName,
    /// What was registered under that name.
    pub tool: Option<ToolName>,
    /// How far it came.
    pub progress: Progress,
    /// Why it did not succeed.
    pub code: Option<Code>,
    /// Where its result came from.
    pub source: Option<Source>,
    /// How often it was started.
    pub attempts: Attempt,
    /// How long the tool took.
    pub latency_us: u64,
}

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Not settled.
    Pending,
    /// Nobody knows whether it took effect.
    Uncertain,
    /// Settled.
    Settled(Outcome),
}

impl Progress {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Progress::Pending => "pending",
            Progress::Uncertain => "uncertain",
            Progress::Settled(outcome) => outcome.as_str(),
        }
    }
}

impl Named for Progress {
    fn name(&self) -> &str {
        self.as_str()
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "pending" => Some(Progress::Pending),
            "uncertain" => Some(Progress::Uncertain),
            outcome => Outcome::parse(outcome).map(Progress::Settled),
        }
    }
}
