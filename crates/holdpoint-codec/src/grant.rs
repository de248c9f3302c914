//! Grants as the stores keep them.

use holdpoint_core::{Covers, Grant, GrantScope, Reach, Remember, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::de::DeserializeAsWrap;
use serde_with::ser::SerializeAsWrap;

use crate::read::{read_record, write_record};
use crate::wire::{DigestText, Moment, Stored};
use crate::{CodecError, Document};

/// A grant as it is stored.
pub fn encode_grant(grant: &Grant) -> Vec<u8> {
    write_record(&SerializeAsWrap::<_, Stored>::new(grant))
}

/// Reads a stored grant.
///
/// # Errors
/// When it has another version, or is not a grant; the error names the field.
pub fn decode_grant(stored: &[u8]) -> Result<Grant, CodecError> {
    read_record::<DeserializeAsWrap<_, Stored>>(stored, Document::Grant).map(DeserializeAsWrap::into_inner)
}

/// A standing approval, as people and programs are shown it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantView {
    /// Its id.
    pub id: String,
    /// The registered tool.
    pub tool: String,
    /// The arguments that it covers.
    pub arguments: GrantedArguments,
    /// The digest of the arguments that it covers; `null` for any.
    pub digest: Option<DigestText>,
    /// The runs that it holds in.
    pub scope: GrantReach,
    /// With the scope `run`.
    pub run_id: Option<String>,
    /// With the scope `session`.
    pub session: Option<String>,
    /// The tenant.
    pub tenant: Option<String>,
    /// When it ends; `null` when it holds until it is revoked.
    pub until: Option<Moment>,
    /// The person who gave it.
    pub actor: Option<String>,
    /// The roles of that person.
    pub roles: Vec<String>,
    /// When it was given.
    pub created_at: Moment,
}

/// The arguments that a grant covers.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantedArguments {
    /// Exactly those of the call that was answered.
    These,
    /// Any arguments of the tool.
    Any,
}

/// The runs that a grant holds in.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantReach {
    /// One run.
    Run,
    /// All runs of a session.
    Session,
    /// All runs of the tenant.
    Tenant,
}

impl GrantView {
    /// What is shown of a grant.
    pub fn of(grant: &Grant) -> Self {
        let (scope, run_id, session) = match &grant.scope {
            GrantScope::Run(run) => (GrantReach::Run, Some(run.to_string()), None),
            GrantScope::Session(session) => (GrantReach::Session, None, Some(session.to_string())),
            GrantScope::Tenant => (GrantReach::Tenant, None, None),
        };
        Self {
            id: grant.id.to_string(),
            tool: grant.tool.to_string(),
            arguments: if grant.digest.is_some() { GrantedArguments::These } else { GrantedArguments::Any },
            digest: grant.digest.map(DigestText),
            scope,
            run_id,
            session,
            tenant: grant.tenant.as_ref().map(ToString::to_string),
            until: grant.until.map(Moment),
            actor: grant.actor.id.as_ref().map(ToString::to_string),
            roles: grant.actor.roles.iter().map(ToString::to_string).collect(),
            created_at: Moment(grant.at),
        }
    }
}

/// What a person wants to be remembered: by default the narrowest, exactly these arguments in this run, until it is taken
/// back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberRequest {
    covers: Covers,
    reach: Reach,
    ends: Ends,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Never,
    At(Timestamp),
    AfterMs(u64),
}

impl Default for RememberRequest {
    fn default() -> Self {
        Self { covers: Covers::TheseArguments, reach: Reach::Run, ends: Ends::Never }
    }
}

impl RememberRequest {
    /// Exactly these arguments, in this run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any arguments of the tool.
    #[must_use]
    pub fn any_arguments(mut self) -> Self {
        self.covers = Covers::AnyArguments;
        self
    }

    /// In all runs of the session.
    #[must_use]
    pub fn in_session(mut self) -> Self {
        self.reach = Reach::Session;
        self
    }

    /// In all runs of the tenant.
    #[must_use]
    pub fn in_tenant(mut self) -> Self {
        self.reach = Reach::Tenant;
        self
    }

    /// Until a moment.
    #[must_use]
    pub fn until(mut self, at: Timestamp) -> Self {
        self.ends = Ends::At(at);
        self
    }

    /// For so long from the answer on.
    #[must_use]
    pub fn for_ms(mut self, ms: u64) -> Self {
        self.ends = Ends::AfterMs(ms);
        self
    }

    /// What is said when the answer is given at this moment.
    pub fn said_at(&self, now: Timestamp) -> Remember {
        let until = match self.ends {
            Ends::Never => None,
            Ends::At(at) => Some(at),
            Ends::AfterMs(ms) => Some(now.plus_ms(ms)),
        };
        Remember { covers: self.covers, reach: self.reach, until }
    }

    /// Reads `{"arguments": "these" | "any", "scope": "run" | "session" | "tenant", "until": MOMENT}`, with
    /// `"expires_in": DURATION` or `"expires_in_ms": NUMBER` instead of `until`. What is absent is the narrowest; `true` is
    /// all of that. Nothing for anything else.
    pub fn from_json(value: &Value) -> Option<Self> {
        let mut request = Self::new();
        if *value == Value::Bool(true) {
            return Some(request);
        }
        for (name, value) in value.as_object()? {
            match (name.as_str(), value.as_str()) {
                ("arguments", Some("these")) => request.covers = Covers::TheseArguments,
                ("arguments", Some("any")) => request.covers = Covers::AnyArguments,
                ("scope", Some("run")) => request.reach = Reach::Run,
                ("scope", Some("session")) => request.reach = Reach::Session,
                ("scope", Some("tenant")) => request.reach = Reach::Tenant,
                ("until", Some(text)) => {
                    let moment: jiff::Timestamp = text.parse().ok()?;
                    request.end(Ends::At(Timestamp(moment.as_microsecond())))?;
                }
                ("expires_in", Some(text)) => request.end(Ends::AfterMs(duration_ms(text)?))?,
                ("expires_in_ms", None) => request.end(Ends::AfterMs(value.as_u64()?))?,
                _ => return None,
            }
        }
        Some(request)
    }

    /// One end, and no more.
    fn end(&mut self, ends: Ends) -> Option<()> {
        let open = self.ends == Ends::Never;
        self.ends = ends;
        open.then_some(())
    }
}

fn duration_ms(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let ms = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(ms)
}
