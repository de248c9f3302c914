//! The executors of an agent, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use globset::GlobBuilder;
use holdpoint_core::{Code, ExecutorChoice, Route};
use thiserror::Error;

use super::Execute;
use super::schedule::{Lane, Routed};
use crate::{Place, THREADS_MAX, ThreadPool};

/// The built-in executors, and those that an application registered. Cheap to clone; clones share the threads.
#[derive(Clone)]
pub struct Executors {
    pool: Arc<ThreadPool>,
    custom: BTreeMap<Arc<str>, Arc<dyn Execute>>,
}

/// Why a choice cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No executor has this name.
    #[error("there is no executor `{name}`, hint: known are {}", listed(known))]
    UnknownExecutor {
        /// The name.
        name: Arc<str>,
        /// The names that are known, sorted.
        known: Vec<Arc<str>>,
    },
    /// Nothing could ever run.
    #[error("`max_concurrency` is 0, hint: it must be at least 1")]
    NoConcurrency,
    /// Threads without a limit.
    #[error("`max_concurrency` is `none` with the executor `threads`, hint: only `concurrent` may be without a limit")]
    UnlimitedThreads,
    /// A route that is not a glob.
    #[error("the route `{pattern}` is not a glob")]
    BadPattern {
        /// The pattern.
        pattern: Arc<str>,
    },
    /// A name that stands for one of the built-in executors, or for nothing.
    #[error("an executor cannot be registered as `{name}`")]
    ReservedName {
        /// The name.
        name: Arc<str>,
    },
}

impl ChoiceError {
    /// Its stable code.
    pub fn code(&self) -> Code {
        match self {
            ChoiceError::UnknownExecutor { .. } => Code::UnknownExecutor,
            ChoiceError::NoConcurrency
            | ChoiceError::UnlimitedThreads
            | ChoiceError::BadPattern { .. }
            | ChoiceError::ReservedName { .. } => Code::InvalidConfig,
        }
    }
}

fn listed(names: &[Arc<str>]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Default for Executors {
    fn default() -> Self {
        Self { pool: Arc::new(ThreadPool::new(THREADS_MAX)), custom: BTreeMap::new() }
    }
}

impl Executors {
    /// Names of the built-in ones, aliases included, sorted.
    pub const BUILT_IN: [&'static str; 6] = ["async", "concurrent", "defer_all", "inline", "sequential", "threads"];

    /// The built-in ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an executor, or replaces the one that was registered under its name. The built-in ones stay what they are.
    pub fn register(&mut self, name: impl Into<Arc<str>>, executor: Arc<dyn Execute>) -> Result<(), ChoiceError> {
        let name = name.into();
        if name.is_empty() || Self::BUILT_IN.contains(&&*name) {
            return Err(ChoiceError::ReservedName { name });
        }
        self.custom.insert(name, executor);
        Ok(())
    }

    /// Every name that can be chosen, sorted.
    pub fn known(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Self::BUILT_IN.iter().map(|name| Arc::from(*name)).collect();
        names.extend(self.custom.keys().cloned());
        names.sort();
        names
    }

    /// The executor of a choice, routes included. Fails here, before anything runs, if the choice cannot be.
    pub fn choose(&self, choice: &ExecutorChoice) -> Result<Arc<dyn Execute>, ChoiceError> {
        let otherwise = self.lane(&choice.name, choice.max_concurrency)?;
        let routes = choice.routes.iter().map(|route| {
            let lane = self.lane(&route.executor, choice.max_concurrency)?;
            Ok((pattern(route)?, lane))
        });
        Ok(Arc::new(Routed { routes: routes.collect::<Result<_, ChoiceError>>()?, otherwise }))
    }

    /// The name of the executor that a choice has for a tool: that of the first route that matches, else the choice's own.
    pub fn name_for<'a>(choice: &'a ExecutorChoice, tool: &str) -> &'a Arc<str> {
        let matches = |route: &&Route| pattern(route).is_ok_and(|pattern| pattern.is_match(tool));
        choice.routes.iter().find(matches).map_or(&choice.name, |route| &route.executor)
    }

    fn lane(&self, name: &Arc<str>, max_concurrency: Option<u32>) -> Result<Lane, ChoiceError> {
        if max_concurrency == Some(0) {
            return Err(ChoiceError::NoConcurrency);
        }
        Ok(match (&**name, self.custom.get(name)) {
            ("inline" | "sequential", _) => Lane::Alone,
            ("concurrent" | "async", _) => Lane::Beside(Place::Task),
            ("threads", _) if max_concurrency.is_none() => return Err(ChoiceError::UnlimitedThreads),
            ("threads", _) => Lane::Beside(Place::Threads(Arc::clone(&self.pool))),
            ("defer_all", _) => Lane::Defer,
            (_, Some(executor)) => Lane::Through(Arc::clone(executor)),
            (_, None) => return Err(ChoiceError::UnknownExecutor { name: Arc::clone(name), known: self.known() }),
        })
    }
}

fn pattern(route: &Route) -> Result<globset::GlobMatcher, ChoiceError> {
    let glob = GlobBuilder::new(&route.pattern).build();
    let glob = glob.map_err(|_| ChoiceError::BadPattern { pattern: Arc::clone(&route.pattern) })?;
    Ok(glob.compile_matcher())
}

impl fmt::Debug for Executors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executors").field("known", &self.known()).field("pool", &self.pool).finish()
    }
}
