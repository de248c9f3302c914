//! A rule per tool chooses the executor.

use async_trait::async_trait;
use globset::GlobMatcher;

use super::schedule::{self, Lane};
use super::{Batch, BatchCall, Execute};

/// The first pattern that matches the registered name chooses the lane.
pub(super) struct Routed {
    pub(super) routes: Vec<(GlobMatcher, Lane)>,
    pub(super) otherwise: Lane,
}

#[async_trait]
impl Execute for Routed {
    async fn execute(&self, batch: Batch) {
        schedule::run(&batch, |call| self.lane(call)).await;
    }
}

impl Routed {
    fn lane(&self, call: &BatchCall) -> Lane {
        let route = self.routes.iter().find(|(pattern, _)| pattern.is_match(call.tool.as_str()));
        route.map_or(&self.otherwise, |(_, lane)| lane).clone()
    }
}
