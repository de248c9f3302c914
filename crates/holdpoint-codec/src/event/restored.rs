//! From a record back to its event.

use std::sync::Arc;

use holdpoint_core::{
    Attempt, CallAnswered, CallIndex, CallOpening, Completeness, DoubtCause, Epoch, Event, Fence, GrantId, LogEntry,
    Message, MessageCompleted, ModelStop, PauseNumber, PauseReason, RunStarted, Stage, StopReason, Timestamp, Turn,
};

use super::record::Record;
use super::written::requested_names;
use crate::wire::{Fault, OpeningWire, Wire, all_core};

impl Record {
    /// The entry of a record.
    pub(super) fn core(self) -> Result<LogEntry, Fault> {
        Ok(LogEntry { at: Timestamp(self.at), event: self.event()? })
    }

    fn event(self) -> Result<Event, Fault> {
        Ok(match &*self.event {
            "run_started" => Event::RunStarted(Arc::new(self.run_started()?)),
            "imported" => {
                let snapshot = need(self.snapshot, "snapshot")?;
                Event::Imported(Arc::new(snapshot.core().map_err(|fault| fault.within("snapshot"))?))
            }
            "turn_started" => Event::TurnStarted { turn: self.turn()? },
            "message_completed" => Event::MessageCompleted(Arc::new(self.message_completed()?)),
            "call_decided" => Event::CallDecided {
                call: self.call()?,
                stage: self.stage.map_or(Stage::Policy, |name| name.0),
                decision: need(self.decision, "decision")?.core().map_err(|fault| fault.within("decision"))?,
                shadow: self.shadow.map(Wire::core).transpose().map_err(|fault| fault.within("shadow"))?.map(Box::new),
            },
            "call_answered" => Event::CallAnswered(Box::new(self.call_answered()?)),
            "grant_given" | "grant_used" | "grant_revoked" => return self.grant(),
            "tool_changed" => Event::ToolChanged {
                call: self.call()?,
                tool: need(self.tool, "tool")?.core().map_err(|fault| fault.within("tool"))?,
            },
            "call_expired" => Event::CallExpired { call: self.call()? },
            "call_requeued" => Event::CallRequeued { call: self.call()? },
            "call_doubted" => {
                let asks = self.result.as_ref().map(|asks| asks.clone().core().map_err(|fault| fault.within("result")));
                Event::CallDoubted {
                    call: self.call()?,
                    cause: self.cause.map_or(DoubtCause::Crashed, |name| name.0),
                    asks: asks.transpose()?.map(Arc::new),
                    may_run: self.may_run,
                }
            }
            "tool_started" => Event::ToolStarted { call: self.call()?, attempt: self.attempt()? },
            "call_deferred" | "task_taken" | "evidence_given" => return self.task(),
            "tool_ended" => Event::ToolEnded {
                call: self.call()?,
                settlement: need(self.settlement, "settlement")?.core().map_err(|fault| fault.within("settlement"))?,
            },
            "hook_failed" => Event::HookFailed { call: self.call()?, detail: need(self.detail, "detail")?.0 },
            "turn_ended" => Event::TurnEnded {
                turn: self.turn()?,
                completeness: if self.interrupted { Completeness::Interrupted } else { Completeness::Complete },
            },
            "context_changed" => Event::ContextChanged { attributes: self.context.0 },
            "epoch_started" => Event::EpochStarted { epoch: Epoch(need(self.epoch, "epoch")?) },
            "retried" => Event::Retried { request: self.request.map(|text| text.0) },
            _ => return self.ending(),
        })
    }

    /// The events about what people said of calls that are yet to come.
    fn grant(self) -> Result<Event, Fault> {
        if self.event == "grant_given" {
            let call = self.call()?;
            let grant = need(self.grant, "grant")?.core().map_err(|fault| fault.within("grant"))?;
            return Ok(Event::GrantGiven { call, grant: Arc::new(grant) });
        }
        let call = self.call;
        let grant = GrantId::new(need(self.grant_id, "grant_id")?.0);
        let actor = self.actor.core().map_err(|fault| fault.within("actor"))?;
        if self.event == "grant_revoked" {
            return Ok(Event::GrantRevoked { grant, actor });
        }
        Ok(Event::GrantUsed { call: CallIndex(need(call, "call")?), grant, actor })
    }

    /// The events about a call that somebody outside does.
    fn task(self) -> Result<Event, Fault> {
        let (call, attempt) = (self.call()?, self.attempt()?);
        if self.event == "call_deferred" {
            return Ok(Event::CallDeferred { call, attempt, deadline: self.deadline.map(Timestamp) });
        }
        let worker = need(self.worker, "worker")?.0;
        if self.event == "task_taken" {
            let fence = Fence(need(self.fence, "fence")?);
            let since = Timestamp(need(self.since, "since")?);
            return Ok(Event::TaskTaken { call, attempt, fence, worker, since });
        }
        let result = need(self.result, "result")?.core().map_err(|fault| fault.within("result"))?;
        Ok(Event::EvidenceGiven { call, attempt, worker, result: Arc::new(result) })
    }

    /// The events by which a segment of a run comes to its end or begins again.
    fn ending(self) -> Result<Event, Fault> {
        Ok(match &*self.event {
            "final_answer_asked" => Event::FinalAnswerAsked,
            "authorization_required" => Event::AuthorizationRequired { pause: self.pause()? },
            "execution_required" => Event::ExecutionRequired { pause: self.pause()? },
            "paused" => Event::Paused { reason: self.waits_for()? },
            "resumed" => Event::Resumed {
                pause: self.pause()?,
                reason: self.waits_for()?,
                request: self.request.map(|text| text.0),
            },
            "failed" => {
                Event::Failed { failure: need(self.failure, "failure")?.0, detail: need(self.detail, "detail")?.0 }
            }
            "cancelled" => Event::Cancelled {
                actor: self.actor.core().map_err(|fault| fault.within("actor"))?,
                reason: self.reason.map(|text| text.0),
            },
            "done" => Event::Done {
                stop: match (self.stop, self.model_stop) {
                    (Some(stop), None) => stop.0,
                    (None, Some(stop)) => StopReason::Model(stop.0),
                    _ => return Err(Fault::at("stop")),
                },
            },
            _ => return Err(Fault::at("event")),
        })
    }

    fn run_started(self) -> Result<RunStarted, Fault> {
        Ok(RunStarted {
            settings: Arc::new(self.settings.settings()),
            context: self.context.0,
            agent: self.agent.map(|text| text.0),
            model: self.model.map(|text| text.0),
            messages: all_core(self.messages, "messages")?.into_iter().map(Arc::new).collect(),
            actor: self.actor.core().map_err(|fault| fault.within("actor"))?,
            session: self.session.map(|text| text.0),
            trace: self.trace.map(|text| text.0),
        })
    }

    fn message_completed(self) -> Result<MessageCompleted, Fault> {
        let message = need(self.message, "message")?.core().map_err(|fault| fault.within("message"))?;
        Ok(MessageCompleted {
            calls: openings(self.openings, &message)?,
            message: Arc::new(message),
            ignored: all_core(self.ignored, "ignored")?,
            usage: self.usage.core().map_err(|fault| fault.within("usage"))?,
            stop: self.model_stop.map_or(ModelStop::ToolUse, |name| name.0),
            latency_us: self.latency_us,
        })
    }

    fn call_answered(self) -> Result<CallAnswered, Fault> {
        Ok(CallAnswered {
            call: self.call()?,
            actor: self.actor.core().map_err(|fault| fault.within("actor"))?,
            answer: need(self.answer, "answer")?.core().map_err(|fault| fault.within("answer"))?,
            digest: self.digest.map(|digest| digest.0),
            decision: self.decision.map(Wire::core).transpose().map_err(|fault| fault.within("decision"))?,
            reason: self.reason.map(|text| text.0),
        })
    }

    fn turn(&self) -> Result<Turn, Fault> {
        need(self.turn, "turn").map(Turn)
    }

    fn call(&self) -> Result<CallIndex, Fault> {
        need(self.call, "call").map(CallIndex)
    }

    fn attempt(&self) -> Result<Attempt, Fault> {
        need(self.attempt, "attempt").map(Attempt)
    }

    fn pause(&self) -> Result<PauseNumber, Fault> {
        need(self.pause, "pause").map(PauseNumber)
    }

    fn waits_for(&self) -> Result<PauseReason, Fault> {
        need(self.waits_for, "waits_for").map(|name| name.0.0)
    }
}

fn need<T>(value: Option<T>, field: &str) -> Result<T, Fault> {
    value.ok_or_else(|| Fault::at(field))
}

/// One for each call of the message; none at all when all are the usual case.
fn openings(mut openings: Vec<OpeningWire>, message: &Message) -> Result<Vec<CallOpening>, Fault> {
    let requested = requested_names(message);
    if openings.is_empty() {
        openings.resize(requested.len(), OpeningWire::default());
    }
    if openings.len() != requested.len() {
        return Err(Fault::at("openings"));
    }
    let both = openings.into_iter().zip(requested).enumerate();
    both.map(|(index, (opening, name))| opening.core(name).map_err(|fault| fault.item("openings", index))).collect()
}
