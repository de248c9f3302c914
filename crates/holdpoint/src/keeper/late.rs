//! Runs that were paused before their store kept questions get theirs, once for each store.

use std::time::Duration;

use holdpoint_core::Status;
use holdpoint_store::{Head, LIST_LIMIT_MAX, LateQuestions, RunFilter};
use tokio_util::sync::CancellationToken;

use crate::driver::{load_run, openings};
use crate::{Error, Runner};

/// Whether it was done: a setting of the store.
const SETTING: &str = "questions_of_older_runs";
const BEGUN: &str = "begun";
const DONE: &str = "done";
/// How long to wait after it failed.
const AGAIN: Duration = Duration::from_secs(30);

/// Tries until it was done, by whomever, or until `shutdown` is cancelled.
pub(super) async fn ask_late(runner: &Runner, shutdown: &CancellationToken) {
    loop {
        match ask_all(runner, shutdown).await {
            Ok(()) => return,
            Err(error) => {
                tracing::debug!(target: "holdpoint", code = %error.code(), "questions of older runs wait");
            }
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

async fn ask_all(runner: &Runner, shutdown: &CancellationToken) -> Result<(), Error> {
    let store = runner.store();
    if &*store.first_setting(SETTING, BEGUN).await? == DONE {
        return Ok(());
    }
    for status in [Status::AwaitingToolConfirmation, Status::AwaitingToolResults] {
        let mut filter = RunFilter { status: Some(status), limit: Some(LIST_LIMIT_MAX), ..RunFilter::default() };
        loop {
            let page = store.list(&filter).await?;
            for head in &page.runs {
                if shutdown.is_cancelled() {
                    return Ok(());
                }
                ask(runner, head).await?;
            }
            match page.next {
                Some(next) => filter.cursor = Some(next),
                None => break,
            }
        }
    }
    store.change_setting(SETTING, BEGUN, DONE).await?;
    Ok(())
}

async fn ask(runner: &Runner, head: &Head) -> Result<(), Error> {
    let run = match load_run(&runner.parts, &head.run).await {
        Ok(run) => run,
        // Pruned meanwhile, or of a version that nobody can read: the others have their questions.
        Err(error) if !matches!(&error, Error::Store(cause) if cause.may_pass()) => {
            tracing::warn!(target: "holdpoint", run = %head.run, code = %error.code(), "a run cannot be read");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let openings = openings(&run);
    if openings.is_empty() {
        return Ok(());
    }
    let late = LateQuestions {
        run: head.run.clone(),
        at: run.revision(),
        agent: head.agent.clone(),
        tenant: head.tenant.clone(),
        asked_at: head.updated_at,
        openings,
    };
    Ok(runner.store().ask_late(&late).await?)
}
