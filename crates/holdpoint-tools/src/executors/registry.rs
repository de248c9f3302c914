//! The executors of an agent, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use globset::GlobBuilder;
use holdpoint_core::{ExecutorChoice, Route};

use super::choice::check_limit;
use super::route::Routed;
use super::schedule::Lane;
use super::{ChoiceError, Concurrent, DeferAll, Execute, Inline, Threads, ToolConcurrency};
use crate::{Place, THREADS_MAX, ThreadPool};

/// The built-in executors, and those that an application registered. Cheap to clone; clones share the threads.
#[derive(Clone)]
pub struct Executors {
    pool: Arc<ThreadPool>,
    custom: BTreeMap<Arc<str>, Arc<dyn Execute>>,
}

impl Default for Executors {
    fn default() -> Self {
        Self::with_pool(Arc::new(ThreadPool::new(THREADS_MAX)))
    }
}

impl Executors {
    /// Names of the built-in ones, aliases included, sorted.
    pub const BUILT_IN: [&'static str; 6] = ["async", "concurrent", "defer_all", "inline", "sequential", "threads"];

    /// The built-in ones.
    pub fn new() -> Self {
        Self::default()
    }

    /// The built-in ones, with these threads.
    pub fn with_pool(pool: Arc<ThreadPool>) -> Self {
        Self { pool, custom: BTreeMap::new() }
    }

    /// The threads of `threads`.
    pub fn pool(&self) -> &Arc<ThreadPool> {
        &self.pool
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
        check_limit(choice)?;
        if choice.routes.is_empty() {
            return self.find(&choice.name);
        }
        let otherwise = self.lane(&choice.name)?;
        let routes = choice.routes.iter().map(|route| Ok((pattern(route)?, self.lane(&route.executor)?)));
        let routes = routes.collect::<Result<_, ChoiceError>>()?;
        Ok(Arc::new(Routed { routes, otherwise }))
    }

    /// The name of the executor that a choice has for a tool: that of the first route that matches, else the choice's own.
    pub fn name_for<'a>(choice: &'a ExecutorChoice, tool: &str) -> &'a Arc<str> {
        let matches = |route: &&Route| pattern(route).is_ok_and(|pattern| pattern.is_match(tool));
        choice.routes.iter().find(matches).map_or(&choice.name, |route| &route.executor)
    }

    fn find(&self, name: &Arc<str>) -> Result<Arc<dyn Execute>, ChoiceError> {
        Ok(match ToolConcurrency::from(&**name) {
            ToolConcurrency::Inline => Arc::new(Inline),
            ToolConcurrency::Concurrent => Arc::new(Concurrent),
            ToolConcurrency::Threads => Arc::new(Threads::new(Arc::clone(&self.pool))),
            ToolConcurrency::DeferAll => Arc::new(DeferAll),
            ToolConcurrency::Custom(name) => self.custom(name)?,
        })
    }

    fn lane(&self, name: &Arc<str>) -> Result<Lane, ChoiceError> {
        Ok(match ToolConcurrency::from(&**name) {
            ToolConcurrency::Inline => Lane::Alone(Place::Task),
            ToolConcurrency::Concurrent => Lane::Beside(Place::Task),
            ToolConcurrency::Threads => Lane::Beside(Place::Threads(Arc::clone(&self.pool))),
            ToolConcurrency::DeferAll => Lane::Defer,
            ToolConcurrency::Custom(name) => Lane::Through(self.custom(name)?),
        })
    }

    fn custom(&self, name: Arc<str>) -> Result<Arc<dyn Execute>, ChoiceError> {
        match self.custom.get(&name) {
            Some(executor) => Ok(Arc::clone(executor)),
            None => Err(ChoiceError::UnknownExecutor { name, known: self.known() }),
        }
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
