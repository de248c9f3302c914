//! The fields of a receipt, in the order of their names.

use holdpoint_core::{BatchId, CallId, CallIndex, CallKey, RunId, ToolName, Turn};
use serde::{Deserialize, Serialize};

use super::Receipt;
use crate::wire::{DigestText, Moment, Text, nullable};

/// What a token carries. All of it is always there, so that it is easy to read in any language.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReceiptWire {
    approved_by: Vec<Option<Text>>,
    batch: Text,
    digest: DigestText,
    #[serde(deserialize_with = "nullable")]
    expires_at: Option<Moment>,
    granted_at: Moment,
    id: Text,
    index: u32,
    #[serde(deserialize_with = "nullable")]
    policy_version: Option<Text>,
    run: Text,
    tool: Text,
    turn: u32,
}

impl ReceiptWire {
    pub(super) fn of(receipt: &Receipt) -> Self {
        Self {
            approved_by: receipt.approved_by.iter().map(|id| id.as_ref().map(Text::share)).collect(),
            batch: Text::new(&receipt.batch().to_string()),
            digest: DigestText(receipt.digest),
            expires_at: receipt.expires_at.map(Moment),
            granted_at: Moment(receipt.granted_at),
            id: Text::new(receipt.id.as_str()),
            index: receipt.key.index.0,
            policy_version: receipt.policy_version.as_ref().map(Text::share),
            run: Text::new(receipt.run().as_str()),
            tool: Text::new(receipt.tool.as_str()),
            turn: receipt.key.turn.0,
        }
    }

    /// Nothing when the batch is not the one of its run and turn.
    pub(super) fn core(self) -> Option<Receipt> {
        let key = CallKey { run: RunId::new(self.run.0), turn: Turn(self.turn), index: CallIndex(self.index) };
        let batch = BatchId { run: key.run.clone(), turn: key.turn };
        (batch.to_string() == self.batch.as_str()).then(|| Receipt {
            key,
            id: CallId::new(self.id.0),
            tool: ToolName::new(self.tool.0),
            digest: self.digest.0,
            policy_version: self.policy_version.map(|text| text.0),
            approved_by: self.approved_by.into_iter().map(|id| id.map(|text| text.0)).collect(),
            granted_at: self.granted_at.0,
            expires_at: self.expires_at.map(|moment| moment.0),
        })
    }
}
