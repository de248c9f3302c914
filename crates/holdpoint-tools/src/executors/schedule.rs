//! The one planner: which calls run beside each other, which wait, and which hold nobody up.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, Stream};
use globset::GlobMatcher;
use holdpoint_core::CallIndex;

use super::{Batch, BatchCall, Execute};
use crate::Place;

/// Where a call goes.
#[derive(Clone)]
pub(super) enum Lane {
    /// To somebody outside.
    Defer,
    /// Beside others, if the batch lets it.
    Beside(Place),
    /// A barrier, as a task: what was asked before it ends first, what was asked after it waits.
    Alone,
    /// To another executor, with its neighbours of the same kind. A barrier too.
    Through(Arc<dyn Execute>),
}

/// The first pattern that matches the registered name chooses the lane.
pub(super) struct Routed {
    pub(super) routes: Vec<(GlobMatcher, Lane)>,
    pub(super) otherwise: Lane,
}

#[async_trait]
impl Execute for Routed {
    async fn execute(&self, batch: Batch) {
        let (deferred, groups) = self.plan(&batch);
        let mut defer = Beside::default();
        deferred.into_iter().for_each(|call| defer.push(Box::pin(batch.defer(call))));
        // Both are polled at once: what is deferred holds nobody up.
        let deferred = async { while defer.next().await.is_some() {} };
        futures_util::future::join(deferred, run_groups(&batch, groups)).await;
    }
}

/// What runs between two barriers.
enum Group {
    Beside(Vec<(CallIndex, Place)>),
    Alone(CallIndex, Place),
    Through(Arc<dyn Execute>, Vec<BatchCall>),
}

impl Routed {
    fn lane(&self, call: &BatchCall) -> Lane {
        let route = self.routes.iter().find(|(pattern, _)| pattern.is_match(call.tool.as_str()));
        route.map_or(&self.otherwise, |(_, lane)| lane).clone()
    }

    fn plan(&self, batch: &Batch) -> (Vec<CallIndex>, Vec<Group>) {
        let mut deferred = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for call in batch.calls() {
            match (self.lane(call), groups.last_mut()) {
                (Lane::Defer, _) => deferred.push(call.index),
                (Lane::Beside(place), last) if batch.may_run_beside_others(call) => match last {
                    Some(Group::Beside(calls)) => calls.push((call.index, place)),
                    _ => groups.push(Group::Beside(vec![(call.index, place)])),
                },
                (Lane::Beside(place), _) => groups.push(Group::Alone(call.index, place)),
                (Lane::Alone, _) => groups.push(Group::Alone(call.index, Place::Task)),
                (Lane::Through(executor), Some(Group::Through(same, calls))) if Arc::ptr_eq(&executor, same) => {
                    calls.push(call.clone());
                }
                (Lane::Through(executor), _) => groups.push(Group::Through(executor, vec![call.clone()])),
            }
        }
        (deferred, groups)
    }
}

async fn run_groups(batch: &Batch, groups: Vec<Group>) {
    for group in groups {
        if batch.is_stopped() {
            return;
        }
        match group {
            Group::Alone(call, place) => {
                batch.run_in(call, place).await;
            }
            Group::Beside(calls) => run_beside(batch, calls).await,
            Group::Through(executor, calls) => executor.execute(batch.part(calls)).await,
        }
    }
}

async fn run_beside(batch: &Batch, calls: Vec<(CallIndex, Place)>) {
    let limit = batch.max_concurrency().map_or(usize::MAX, |max| max.max(1) as usize);
    let mut waiting = calls.into_iter();
    let mut started = Beside::default();
    for (call, place) in waiting.by_ref().take(limit) {
        started.push(run_one(batch, call, place));
    }
    while started.next().await.is_some() {
        if batch.is_stopped() {
            continue;
        }
        if let Some((call, place)) = waiting.next() {
            started.push(run_one(batch, call, place));
        }
    }
}

fn run_one(batch: &Batch, call: CallIndex, place: Place) -> Work<'_> {
    Box::pin(async move {
        batch.run_in(call, place).await;
    })
}

type Work<'a> = BoxFuture<'a, ()>;

/// Futures that run beside each other inside this one. Every poll sees to it that each of them was polled once, so that
/// all that start together can be committed together.
#[derive(Default)]
struct Beside<'a> {
    futures: FuturesUnordered<Started<'a>>,
    pushed: usize,
    polled: Arc<AtomicUsize>,
}

impl<'a> Beside<'a> {
    fn push(&mut self, work: Work<'a>) {
        self.pushed += 1;
        self.futures.push(Started { work, polled: Some(Arc::clone(&self.polled)) });
    }

    async fn next(&mut self) -> Option<()> {
        std::future::poll_fn(|context| {
            loop {
                match Pin::new(&mut self.futures).poll_next(context) {
                    // The set pauses early when its members wake themselves.
                    Poll::Pending if self.polled.load(Ordering::Relaxed) < self.pushed => {}
                    other => return other,
                }
            }
        })
        .await
    }
}

/// Counts its first poll.
struct Started<'a> {
    work: Work<'a>,
    polled: Option<Arc<AtomicUsize>>,
}

impl Future for Started<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(polled) = self.polled.take() {
            polled.fetch_add(1, Ordering::Relaxed);
        }
        self.work.as_mut().poll(context)
    }
}
