//! How many run at once, in which order, and who stops waiting.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdpoint_core::{Code, Outcome, Repeat, Source};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::testing::{around_call, succeeded};
use super::*;
use crate::testing::call;
use crate::{Chain, around_fn};

/// How many calls run, and the most that ever did.
#[derive(Default)]
struct Gauge {
    running: AtomicU32,
    most: AtomicU32,
    order: Mutex<Vec<u32>>,
}

impl Gauge {
    /// A call whose tool works for a second.
    async fn run(&self, number: u32, limit: &Arc<ConcurrencyLimit>, tool: &str) -> Settlement {
        let hook: Arc<dyn Around> = limit.clone();
        let inside = |_| async {
            self.order.lock().unwrap().push(number);
            self.most.fetch_max(self.running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            sleep(Duration::from_secs(1)).await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            Ok(succeeded())
        };
        Chain::new(vec![hook]).run(&around_call(tool, Repeat::Never), inside).await.unwrap()
    }

    fn most(&self) -> u32 {
        self.most.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_run_at_once_and_in_the_order_they_came() {
    let (gauge, begun) = (Gauge::default(), Instant::now());
    let limit = ConcurrencyLimit::builder(2).build().unwrap();
    futures_util::future::join_all((0..6).map(|number| gauge.run(number, &limit, "a"))).await;
    assert_eq!(gauge.most(), 2);
    assert_eq!(begun.elapsed().as_secs(), 3);
    assert_eq!(*gauge.order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(limit.budget.permits.available_permits(), 2);
}

#[tokio::test(start_paused = true)]
async fn other_tools_pass_through_a_limit_of_one_tool() {
    let (gauge, begun) = (Gauge::default(), Instant::now());
    let limit = ConcurrencyLimit::builder(1).tool("slow").build().unwrap();
    futures_util::future::join_all((0..5).map(|number| gauge.run(number, &limit, "quick"))).await;
    assert_eq!((gauge.most(), begun.elapsed().as_secs()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_name_is_one_limit_for_the_whole_process() {
    let gauge = Gauge::default();
    let name = "one-limit-for-the-process";
    let limits = [(); 3].map(|()| ConcurrencyLimit::builder(2).shared(name).build().unwrap());
    let calls = (0..6).map(|number| gauge.run(number, &limits[number as usize % 3], "a"));
    futures_util::future::join_all(calls).await;
    assert_eq!(gauge.most(), 2);

    let error = ConcurrencyLimit::builder(3).shared(name).build().unwrap_err();
    assert_eq!((error.hook, error.field), ("concurrency", "max"));
    drop(limits);
    assert!(ConcurrencyLimit::builder(3).shared(name).build().is_ok(), "a limit that nobody holds is forgotten");
}

#[tokio::test(start_paused = true)]
async fn limits_without_a_name_do_not_know_each_other() {
    let gauge = Gauge::default();
    let limits = [(); 3].map(|()| ConcurrencyLimit::builder(1).build().unwrap());
    futures_util::future::join_all((0..3).map(|number| gauge.run(number, &limits[number as usize], "a"))).await;
    assert_eq!(gauge.most(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_too_long_is_refused_and_a_cancelled_one_stops_waiting() {
    let limit = ConcurrencyLimit::builder(1).build().unwrap();
    let hook: Arc<dyn Around> = limit.clone();
    let chain = Chain::new(vec![hook]);
    let _taken = limit.budget.permits.acquire().await.unwrap();

    let begun = Instant::now();
    let refused = chain.run(&around_call("a", Repeat::Never), |_| async { Ok(succeeded()) }).await.unwrap();
    assert_eq!((refused.outcome, refused.code), (Outcome::Failed, Some(Code::RateLimited)));
    assert_eq!((refused.source, begun.elapsed().as_secs()), (Some(Source::Hook), 60));

    let token = CancellationToken::new();
    let definition = Arc::clone(around_call("a", Repeat::Never).definition());
    let cancelled = AroundCall::new(definition, call("a", "{}").with_cancellation(token.clone()));
    let begun = Instant::now();
    let run = chain.run(&cancelled, |_| async { Ok(succeeded()) });
    let (result, ()) = tokio::join!(run, async {
        sleep(Duration::from_secs(5)).await;
        token.cancel();
    });
    assert_eq!(result.unwrap_err(), HookError::Interrupted);
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_that_waits_too_long_is_refused_and_no_hook_has_failed() {
    let limit = ConcurrencyLimit::builder(1).build().unwrap();
    let taken = Arc::clone(&limit);
    let twice = around_fn(move |_, next| {
        let taken = Arc::clone(&taken);
        Box::pin(async move {
            next.run().await?;
            let _taken = taken.budget.permits.acquire().await;
            next.run().await
        })
    });
    let begun = Instant::now();
    let inside = |_| async {
        sleep(Duration::from_secs(30)).await;
        Ok(succeeded())
    };
    let settlement = Chain::new(vec![twice, limit]).run(&around_call("a", Repeat::Never), inside).await.unwrap();
    assert_eq!((settlement.code, begun.elapsed().as_secs()), (Some(Code::RateLimited), 90));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_or_fails_gives_its_place_back() {
    let limit = ConcurrencyLimit::builder(1).build().unwrap();
    let hook: Arc<dyn Around> = limit.clone();
    let chain = Chain::new(vec![hook]);
    let call = around_call("a", Repeat::Never);
    let hanging = chain.run(&call, |_| std::future::pending());
    assert!(tokio::time::timeout(Duration::from_secs(1), hanging).await.is_err());
    assert_eq!(limit.budget.permits.available_permits(), 1);
    let failing = chain.run(&call, |_| async { Err(HookError::new("no")) });
    assert!(failing.await.is_err());
    assert_eq!(limit.budget.permits.available_permits(), 1);
}

#[test]
fn nothing_at_once_is_refused() {
    let error = ConcurrencyLimit::builder(0).build().unwrap_err();
    assert_eq!((error.hook, error.field), ("concurrency", "max"));
    assert!(ConcurrencyLimit::builder(u32::MAX).build().is_ok());
}
