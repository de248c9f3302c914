//! What others may know of an agent: its tools, its model, and what happens in its runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdpoint_core::ToolName;
use holdpoint_tools::ToolDefinition;
use tokio_util::sync::CancellationToken;

use crate::events::instrument::Instruments;
use crate::parts::Parts;
use crate::{Agent, DeltaHub, InstrumentSink, Runner, SpanParent, ToolStats};

impl Runner {
    /// The tools, by name.
    pub fn definitions(&self) -> Vec<Arc<ToolDefinition>> {
        self.parts.registry.definitions()
    }

    /// The name of the model, if it has one.
    pub fn model_name(&self) -> Option<&str> {
        self.parts.model.name()
    }
}

impl Runner {
    /// The same runner, which lets go of its runs when this token is cancelled: as [`Agent::with_stopping`].
    #[must_use]
    pub fn with_stopping(&self, token: CancellationToken) -> Runner {
        let stopping = self.parts.stopping.and(token);
        Runner { parts: Arc::new(Parts { stopping, ..self.parts.share() }) }
    }

    /// How the calls of each tool went in this process, by registered name.
    pub fn tool_stats(&self) -> BTreeMap<ToolName, ToolStats> {
        self.parts.stats.all()
    }
}

impl Agent {
    /// The same agent, whose models are heard at this hub too.
    #[must_use]
    pub fn with_deltas(&self, hub: DeltaHub) -> Agent {
        self.with_parts(Parts { deltas: Some(hub), ..self.runner.parts.share() })
    }

    /// The same agent, whose spans join the trace that a run was started in.
    #[must_use]
    pub fn with_span_parent(&self, join: SpanParent) -> Agent {
        self.with_parts(Parts { span_parent: Some(join), ..self.runner.parts.share() })
    }

    /// The same agent, which lets go of its runs when this token is cancelled: no turn and no tool begins any more, tools
    /// that run are waited for, what happened is committed, and whoever else looks after runs goes on at once. The result
    /// of a run that was let go of has the status `running`.
    #[must_use]
    pub fn with_stopping(&self, token: CancellationToken) -> Agent {
        Agent { runner: self.runner.with_stopping(token), system_prompt: self.system_prompt.clone() }
    }

    fn with_parts(&self, parts: Parts) -> Agent {
        Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() }
    }

    /// The same agent, whose happenings are told to this sink too.
    #[must_use]
    pub fn with_instrument(&self, sink: InstrumentSink) -> Agent {
        let sink = match self.runner.parts.instruments.sink.clone() {
            None => sink,
            Some(before) => Arc::new(move |happening: &crate::Happening| {
                before(happening);
                sink(happening);
            }),
        };
        let parts = Parts { instruments: Instruments { sink: Some(sink) }, ..self.runner.parts.share() };
        Agent { runner: Runner { parts: Arc::new(parts) }, system_prompt: self.system_prompt.clone() }
    }
}
