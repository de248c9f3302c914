//! The one shape of all stored events: the version, the name, and whichever fields the event has.

use std::borrow::Cow;

use holdpoint_core::{DoubtCause, Failure, ModelStop, Stage, StopReason};
use serde::{Deserialize, Serialize};

use super::VERSION;
use crate::SettingsSpec;
use crate::read::Versioned;
use crate::wire::{
    ActorWire, AnswerWire, Awaited, DecisionWire, DigestText, GrantWire, Members, MessageWire, Name, OpeningWire,
    RecordWire, ResultWire, SettlementWire, SnapshotWire, Text, ToolWire, UsageWire, is_default,
};

/// A stored event.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) v: u32,
    pub(super) event: Cow<'static, str>,
    /// Microseconds since 1970.
    pub(super) at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) attempt: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fence: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pause: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) epoch: Option<u32>,
    /// Microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<i64>,
    /// Microseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) worker: Option<Text>,
    /// Absent from a doubt after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cause: Option<Name<DoubtCause>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<ResultWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stage: Option<Name<Stage>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) decision: Option<DecisionWire>,
    /// What a policy that is only being tried would have decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shadow: Option<DecisionWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grant: Option<GrantWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) grant_id: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<ToolWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trace: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<AnswerWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<DigestText>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) actor: ActorWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) settlement: Option<SettlementWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) interrupted: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) may_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) waits_for: Option<Name<Awaited>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<Name<Failure>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) detail: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stop: Option<Name<StopReason>>,
    /// Absent from a message by which the model asked for tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model_stop: Option<Name<ModelStop>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<Text>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) settings: SettingsSpec,
    #[serde(default, skip_serializing_if = "Members::is_empty")]
    pub(super) context: Members,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<MessageWire>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<MessageWire>,
    /// What is known of each call of the message; absent when all are the usual case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) openings: Vec<OpeningWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) ignored: Vec<RecordWire>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) usage: UsageWire,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) latency_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) snapshot: Option<Box<SnapshotWire>>,
}

impl Versioned for Record {
    fn version(&self) -> u32 {
        self.v
    }
}

impl Record {
    /// Without any field.
    pub(super) fn named(event: &'static str) -> Self {
        Self {
            v: VERSION,
            event: Cow::Borrowed(event),
            at: 0,
            turn: None,
            call: None,
            attempt: None,
            fence: None,
            pause: None,
            epoch: None,
            since: None,
            deadline: None,
            worker: None,
            cause: None,
            result: None,
            stage: None,
            decision: None,
            shadow: None,
            grant: None,
            grant_id: None,
            tool: None,
            session: None,
            request: None,
            trace: None,
            answer: None,
            digest: None,
            actor: ActorWire::default(),
            settlement: None,
            interrupted: false,
            may_run: false,
            waits_for: None,
            failure: None,
            detail: None,
            reason: None,
            stop: None,
            model_stop: None,
            agent: None,
            model: None,
            settings: SettingsSpec::default(),
            context: Members::default(),
            messages: Vec::new(),
            message: None,
            openings: Vec::new(),
            ignored: Vec::new(),
            usage: UsageWire::default(),
            latency_us: 0,
            snapshot: None,
        }
    }
}
