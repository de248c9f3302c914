//! Where `runs` and `approvals` read and act: in a store, or at a server. Both answer with the types of the API.

mod server;
mod store;

use std::process::ExitCode;

use async_trait::async_trait;
use clap::Args;
use holdpoint_api::{ApprovalView, RunSummary, RunView};
use holdpoint_codec::view::{EventView, MessageView};
use holdpoint_config::printable;
use holdpoint_core::Digest;
use holdpoint_store::{Cursor, Page};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::person::PersonArgs;
use crate::print;
use crate::stores::StoreArgs;

/// The longest list.
const MAX_LISTED: u32 = 10_000;

/// Which backend.
#[derive(Args, Clone, Debug)]
pub(crate) struct BackendArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Ask this server in place of a store. The variable `HOLDPOINT_TOKEN` holds the token, which says who acts.
    #[arg(long, value_name = "URL", conflicts_with_all = ["store", "config"])]
    server: Option<String>,
}

/// One run or one approval.
#[derive(Args, Clone, Debug)]
pub(crate) struct ItemArgs {
    /// Its id, as the list shows it.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
}

/// One run or one approval to show.
#[derive(Args, Clone, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) item: ItemArgs,
    /// One JSON object: what the API answers; of a run with its messages.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which runs or approvals to list.
#[derive(Args, Clone, Debug)]
pub(crate) struct Filter {
    /// Only those of this agent.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Only those of this tenant.
    #[arg(long, value_name = "NAME", conflicts_with = "server")]
    pub(crate) tenant: Option<String>,
    /// How many at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LISTED)))]
    pub(crate) limit: u32,
    // Each list has statuses of its own.
    #[arg(skip)]
    pub(crate) status: Option<String>,
    #[arg(skip)]
    pub(crate) run: Option<String>,
}

/// Which part of a list.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    cursor: Option<Cursor>,
    limit: usize,
}

/// What the API calls the answers that a terminal can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GivenDecision {
    Allow,
    Deny,
}

/// An answer to an approval.
#[derive(Clone, Debug)]
pub(crate) struct AnswerGiven {
    pub(crate) decision: GivenDecision,
    /// The digest of the question that the person saw.
    pub(crate) digest: Digest,
    pub(crate) reason: Option<String>,
}

#[async_trait(?Send)]
pub(crate) trait Backend {
    /// Runs, the last created first.
    async fn runs(&self, filter: &Filter, part: Part) -> Outcome<Page<RunSummary>>;
    async fn run(&self, id: &str) -> Outcome<RunView>;
    async fn messages(&self, id: &str) -> Outcome<Vec<MessageView>>;
    /// The events of a run after a number; none when there are no more for now.
    async fn events(&self, id: &str, after: u64) -> Outcome<Vec<EventView>>;
    /// Waits until there may be more events after this number.
    async fn changed(&self, id: &str, after: u64) -> Outcome<()>;
    async fn cancel(&self, id: &str, person: &PersonArgs) -> Outcome<RunView>;
    /// Approvals; pending ones with the earliest deadline first.
    async fn approvals(&self, filter: &Filter, part: Part) -> Outcome<Page<ApprovalView>>;
    async fn approval(&self, id: &str) -> Outcome<ApprovalView>;
    async fn answer(&self, approval: &ApprovalView, answer: AnswerGiven, person: &PersonArgs) -> Outcome<()>;
}

impl BackendArgs {
    /// Opens a database as it is: it is neither created nor migrated.
    pub(crate) async fn open(&self) -> Outcome<Box<dyn Backend>> {
        match &self.server {
            Some(url) => Ok(Box::new(server::ServerBackend::new(url)?)),
            None => Ok(Box::new(store::StoreBackend::open(&self.store).await?)),
        }
    }
}

impl Filter {
    /// Reads pages until there are enough items; says whether there are more.
    async fn collect<T>(&self, read: impl AsyncFn(Part) -> Outcome<Page<T>>) -> Outcome<Page<T>> {
        let mut all = Page::default();
        loop {
            let left = self.limit as usize - all.items.len();
            let page = read(Part { cursor: all.next, limit: left }).await?;
            all.items.extend(page.items.into_iter().take(left));
            all.next = page.next;
            if all.next.is_none() || all.items.len() >= self.limit as usize {
                return Ok(all);
            }
        }
    }

    /// Prints a list; `none` says on standard error that it is empty.
    pub(crate) async fn list<T: Serialize>(
        &self,
        read: impl AsyncFn(Part) -> Outcome<Page<T>>,
        columns: &[(&str, &str)],
        none: &str,
        as_json: bool,
    ) -> Outcome {
        let page = self.collect(read).await?;
        print::list(&page.items, columns, as_json);
        match (page.items.is_empty(), page.next) {
            _ if as_json => {}
            (true, _) => eprintln!("{none}"),
            (false, Some(_)) => eprintln!("there are more: --limit"),
            (false, None) => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn no_such_run(id: &str) -> Failure {
    let failure = Failure::new(format!("there is no run `{}`", printable::line(id)));
    failure.hint("`holdpoint runs list` shows which there are")
}

fn no_such_approval(id: &str) -> Failure {
    let failure = Failure::new(format!("there is no approval `{}`", printable::line(id)));
    failure.hint("`holdpoint approvals list` shows which there are")
}
