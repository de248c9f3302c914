//! Where `runs` and `approvals` look and act: in a store, or at a server. Both say everything in the words of the API.

mod server;
mod store;

use std::process::ExitCode;

use async_trait::async_trait;
use clap::Args;
use holdpoint_codec::Shown;
use holdpoint_core::Digest;

use crate::person::PersonArgs;
use crate::setup::ConfigArgs;

/// Where to look.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeskArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Where the runs are: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. The store of the configuration if absent.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Ask this server in place of a store. The variable `HOLDPOINT_TOKEN` holds the token, which says who acts.
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "config"])]
    server: Option<String>,
}

/// Which runs or questions to list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) status: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) tenant: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) limit: usize,
}

/// What was found of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) items: Vec<Shown>,
    /// Whether there are more.
    pub(crate) more: bool,
}

/// What a person says to a question.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) word: Word,
    /// Which question it is for.
    pub(crate) digest: Digest,
    pub(crate) reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Allow,
    Deny,
}

impl Word {
    /// Its name in the API.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Word::Allow => "allow",
            Word::Deny => "deny",
        }
    }
}

/// Somewhere to look and to act. What goes wrong was told already.
#[async_trait]
pub(crate) trait Desk: Send + Sync {
    /// Runs, the last created first.
    async fn runs(&self, wanted: &Wanted) -> Result<Found, ExitCode>;
    /// One run.
    async fn run(&self, id: &str) -> Result<Shown, ExitCode>;
    /// Its conversation.
    async fn messages(&self, id: &str) -> Result<Vec<Shown>, ExitCode>;
    /// Its events after a number; none when there are no more for now.
    async fn events(&self, id: &str, after: u64) -> Result<Vec<Shown>, ExitCode>;
    /// Waits until there may be more events after this number.
    async fn changed(&self, id: &str, after: u64) -> Result<(), ExitCode>;
    /// Cancels a run; says where it is then.
    async fn cancel(&self, id: &str, person: &PersonArgs) -> Result<Shown, ExitCode>;
    /// Questions: those that wait with the earliest deadline first.
    async fn questions(&self, wanted: &Wanted) -> Result<Found, ExitCode>;
    /// One question.
    async fn question(&self, id: &str) -> Result<Shown, ExitCode>;
    /// Answers a question that [`Desk::question`] gave.
    async fn answer(&self, question: &Shown, said: &Said, person: &PersonArgs) -> Result<(), ExitCode>;
}

impl DeskArgs {
    /// Opens what is there: whoever only looks makes no database, and changes none.
    pub(crate) async fn open(&self) -> Result<Box<dyn Desk>, ExitCode> {
        match &self.server {
            Some(url) => Ok(Box::new(server::ServerDesk::new(url)?)),
            None => Ok(Box::new(store::StoreDesk::open(&self.config, self.store.as_deref()).await?)),
        }
    }
}

/// A text of an answer, or nothing.
pub(crate) fn text(shown: &Shown, key: &str) -> String {
    shown.text(key).unwrap_or_default()
}

/// The objects in a list of an answer.
pub(crate) fn listed(shown: &Shown, key: &str) -> Vec<Shown> {
    shown.raw(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
