//! A file of rules with its mode.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use holdpoint_codec::Context;
use holdpoint_codec::ToolDefinition;
use holdpoint_config::{ConfigError, Document, Problem};
use holdpoint_core::Decision;
use serde::Deserialize;

use super::{Decide, FILE_BYTES_MAX, RuleSpec, Rules};
use crate::{AuthorizeRequest, Judgement, Policy, PolicyError, PolicyVersion, Shadow};

/// Whether the rules of a file hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// They do.
    #[default]
    Enforce,
    /// They are tried: those of another file hold, and what these would have decided is recorded.
    LogOnly,
}

impl Mode {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Enforce => "enforce",
            Mode::LogOnly => "log_only",
        }
    }
}

/// A policy from a file with either mode.
///
/// With `mode = "log_only"` the file names another one, `beside`, which is enforced in every respect. What the rules of
/// the file itself would have decided comes back as the [`Shadow`] of a [`Judgement`] and changes nothing, even if they
/// cannot decide.
#[derive(Debug)]
pub struct RulesFile {
    written: Rules,
    beside: Option<Rules>,
}

/// Rules that hold, from wherever they are.
impl From<Rules> for RulesFile {
    fn from(rules: Rules) -> Self {
        Self { written: rules, beside: None }
    }
}

impl RulesFile {
    /// Reads a file, and the one beside it if there is one; its name is relative to the folder of the first.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let Written { rules, beside, document } = Written::load(path.as_ref())?;
        // A policy that is enforced must enforce by itself: so no file can name itself, or go round in a circle.
        let beside = beside.map(|beside| Rules::load(document.path(beside))).transpose()?;
        Ok(Self { written: rules, beside })
    }

    /// The rules of the file itself.
    pub fn written(&self) -> &Rules {
        &self.written
    }

    /// The rules that hold.
    pub fn enforced(&self) -> &Rules {
        self.beside.as_ref().unwrap_or(&self.written)
    }

    /// The mode of the file.
    pub fn mode(&self) -> Mode {
        if self.beside.is_some() { Mode::LogOnly } else { Mode::Enforce }
    }

    fn shadow(&self, decision: Result<Decision, PolicyError>) -> Shadow {
        Shadow { version: Some(self.written.version().clone()), decision: decision.ok() }
    }

    fn all(&self) -> impl Iterator<Item = &Rules> {
        [Some(&self.written), self.beside.as_ref()].into_iter().flatten()
    }
}

/// The keys of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSpec {
    #[serde(default)]
    mode: Mode,
    beside: Option<PathBuf>,
    #[serde(default)]
    rule: Vec<RuleSpec>,
}

/// A file that was read.
pub(super) struct Written {
    rules: Rules,
    /// The file that is enforced while this one is tried.
    beside: Option<PathBuf>,
    document: Arc<Document>,
}

impl Written {
    pub(super) fn load(path: &Path) -> Result<Self, ConfigError> {
        Self::read(Document::load_toml(path, FILE_BYTES_MAX)?)
    }

    pub(super) fn read(document: Document) -> Result<Self, ConfigError> {
        let FileSpec { mode, beside, rule: specs } = document.read()?;
        let problem = match (mode, &beside) {
            (Mode::LogOnly, Some(_)) | (Mode::Enforce, None) => None,
            (Mode::LogOnly, None) => Some(Problem::at(
                "mode",
                "is `log_only`, which enforces nothing by itself\n\
                 hint: name the policy that is enforced meanwhile, as in `beside = \"policy.toml\"`",
            )),
            (Mode::Enforce, Some(_)) => {
                Some(Problem::at("beside", "is for the mode `log_only`\nhint: remove it, or set `mode = \"log_only\"`"))
            }
        };
        if let Some(problem) = problem {
            return Err(document.error(problem));
        }
        let document = Arc::new(document);
        let rules = Rules::read(&specs, Some(&document));
        let rules = rules.map_err(|problem| document.error(problem.below("rule")))?;
        Ok(Self { rules, beside, document })
    }

    /// The rules, if they are to be enforced.
    pub(super) fn enforced(self) -> Result<Rules, ConfigError> {
        if self.beside.is_none() {
            return Ok(self.rules);
        }
        let problem = Problem::at("mode", "is `log_only`: the policy enforces nothing");
        Err(self.document.error(problem.with_hint("load it as a `RulesFile`, or set `mode = \"enforce\"`")))
    }
}

#[async_trait]
impl Policy for RulesFile {
    async fn filter(
        &self,
        tools: Vec<Arc<ToolDefinition>>,
        context: &Context,
    ) -> Result<Vec<Arc<ToolDefinition>>, PolicyError> {
        self.enforced().filter(tools, context).await
    }

    /// Whoever asks only for the decision leaves what the other policy would have decided in the operational log.
    async fn authorize(&self, request: &AuthorizeRequest<'_>) -> Result<Decision, PolicyError> {
        let Judgement { decision, shadow } = self.judge(request).await?;
        if let Some(shadow) = shadow {
            let would = shadow.decision.as_ref().map_or(Decide::Deny, Decide::of);
            let rule = shadow.decision.as_ref().and_then(|decision| decision.ground().rule.as_deref());
            let enforced = Decide::of(&decision).as_str();
            let tool = request.tool.as_str();
            tracing::info!(tool, enforced, would = would.as_str(), rule, "a policy is tried");
        }
        Ok(decision)
    }

    async fn judge(&self, request: &AuthorizeRequest<'_>) -> Result<Judgement, PolicyError> {
        let decision = self.enforced().authorize(request).await?;
        let shadow = match self.mode() {
            Mode::Enforce => None,
            Mode::LogOnly => Some(self.shadow(self.written.authorize(request).await)),
        };
        Ok(Judgement { decision, shadow })
    }

    fn needs_history(&self) -> bool {
        self.all().any(Policy::needs_history)
    }

    /// That of the rules that hold.
    fn version(&self) -> Option<PolicyVersion> {
        Some(self.enforced().version().clone())
    }

    fn accepts_context_keys(&self, keys: &BTreeSet<Arc<str>>) -> Result<(), PolicyError> {
        self.all().try_for_each(|rules| rules.accepts_context_keys(keys))
    }

    fn accepts_tools(&self, tools: &crate::KnownTools) -> Result<(), PolicyError> {
        self.all().try_for_each(|rules| rules.accepts_tools(tools))
    }
}
