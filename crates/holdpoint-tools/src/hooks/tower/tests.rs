//! Tower's own layers around a call.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdpoint_core::Repeat;
use tower::ServiceBuilder;
use tower::layer::layer_fn;
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::LoadShedLayer;
use tower::timeout::TimeoutLayer;

use super::*;
use crate::hooks::testing::{Stage, around_call, failed, succeeded};
use crate::{Chain, around_fn};

const SECOND: Duration = Duration::from_secs(1);

/// Runs a call whose tool takes so long.
async fn run(hooks: Vec<Arc<dyn Around>>, takes: Duration) -> Settlement {
    let inside = |_| async {
        tokio::time::sleep(takes).await;
        Ok(succeeded())
    };
    Chain::new(hooks).run(&around_call("pay", Repeat::Never), inside).await.unwrap()
}

fn holding(time: Duration) -> Arc<dyn Around> {
    around_fn(move |_, next| {
        Box::pin(async move {
            tokio::time::sleep(time).await;
            next.run().await
        })
    })
}

#[tokio::test]
async fn a_call_goes_through_the_layers_and_its_result_comes_back() {
    let layers = ServiceBuilder::new().load_shed().buffer(4).concurrency_limit(1).timeout(SECOND);
    let stage = Stage::new(vec![tower_hook(layers.into_inner())], around_call("pay", Repeat::Never)).giving([failed()]);
    assert_eq!(stage.run().await.code, Some(Code::ToolError));
    assert_eq!(stage.run().await.outcome, Outcome::Succeeded);
    assert_eq!(stage.ran(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_towers_timeout_cuts_is_timed_out_and_stopped() {
    let hook = tower_hook(TimeoutLayer::new(SECOND));
    let ended = AtomicU32::new(0);
    let inside = |_| async {
        tokio::time::sleep(2 * SECOND).await;
        ended.fetch_add(1, Ordering::Relaxed);
        Ok(succeeded())
    };
    let chain = Chain::new(vec![hook]);
    let settlement = chain.run(&around_call("pay", Repeat::Never), inside).await.unwrap();
    assert_eq!((settlement.outcome, settlement.code), (Outcome::TimedOut, Some(Code::TimedOut)));
    assert_eq!((settlement.source, settlement.latency_us), (Some(Source::Tool), 1_000_000));
    assert!(settlement.result.is_error());
    assert!(settlement.result.text().contains("may have taken effect"), "{}", settlement.result.text());
    tokio::time::sleep(5 * SECOND).await;
    assert_eq!(ended.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_towers_timeout_cuts_before_its_tool_started_is_rate_limited() {
    let settlement = run(vec![tower_hook(TimeoutLayer::new(SECOND)), holding(2 * SECOND)], SECOND).await;
    assert_eq!((settlement.outcome, settlement.code), (Outcome::Failed, Some(Code::RateLimited)));
    assert_eq!(settlement.source, Some(Source::Hook));
    assert!(settlement.result.text().contains("not executed"), "{}", settlement.result.text());
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_shared_by_all_calls() {
    let hook = tower_hook(ConcurrencyLimitLayer::new(2));
    let begun = Instant::now();
    let calls = (0..6).map(|_| run(vec![hook.clone()], SECOND));
    let settled = futures_util::future::join_all(calls).await;
    assert!(settled.iter().all(|settlement| settlement.outcome == Outcome::Succeeded));
    assert_eq!(begun.elapsed(), 3 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_needs_no_buffer() {
    let hook = tower_hook(tower::limit::RateLimitLayer::new(2, SECOND));
    let begun = Instant::now();
    for _ in 0..5 {
        run(vec![hook.clone()], Duration::ZERO).await;
    }
    let waited = begun.elapsed();
    assert!(waited >= 2 * SECOND && waited < 3 * SECOND, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn what_tower_sheds_is_rate_limited_and_not_executed() {
    let layers = ServiceBuilder::new().layer(LoadShedLayer::new()).layer(ConcurrencyLimitLayer::new(1));
    let hook = tower_hook(layers.into_inner());
    let (first, second) = tokio::join!(run(vec![hook.clone()], SECOND), run(vec![hook.clone()], SECOND));
    assert_eq!(first.outcome, Outcome::Succeeded);
    assert_eq!((second.code, second.source), (Some(Code::RateLimited), Some(Source::Hook)));
    assert_eq!(run(vec![hook], SECOND).await.outcome, Outcome::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_place_back() {
    let hook = tower_hook(ConcurrencyLimitLayer::new(1));
    let cut = tokio::time::timeout(SECOND, run(vec![hook.clone()], 10 * SECOND)).await;
    assert!(cut.is_err());
    let begun = Instant::now();
    assert_eq!(run(vec![hook], SECOND).await.outcome, Outcome::Succeeded);
    assert_eq!(begun.elapsed(), SECOND);
}

/// Answers every request with this function, with the inner service at hand.
#[derive(Clone)]
struct Custom<F>(Inside, F);

impl<F> Service<AroundRequest> for Custom<F>
where
    F: Fn(Inside, AroundRequest) -> BoxFuture<'static, Result<Settlement, BoxError>>,
{
    type Response = Settlement;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Settlement, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: AroundRequest) -> Self::Future {
        (self.1)(self.0, request)
    }
}

fn custom(
    function: impl Fn(Inside, AroundRequest) -> BoxFuture<'static, Result<Settlement, BoxError>>
    + Clone
    + Send
    + Sync
    + 'static,
) -> Arc<dyn Around> {
    tower_hook(layer_fn(move |inside| Custom(inside, function.clone())))
}

#[tokio::test]
async fn a_layer_sees_the_call_and_may_answer_it() {
    let hook = custom(|_, request| {
        let name = request.call().definition().name.to_string();
        let answer = request.call().answered(Source::Hook, ToolResult::success(name));
        async move { Ok(answer) }.boxed()
    });
    let stage = Stage::new(vec![hook], around_call("pay", Repeat::Never));
    assert_eq!((stage.run().await.result.text(), stage.ran()), ("pay".to_owned(), 0));
}

#[tokio::test]
async fn a_layer_may_pass_a_call_on_again() {
    let hook = custom(|mut inside, request| {
        async move {
            inside.call(request.clone()).await?;
            inside.call(request).await
        }
        .boxed()
    });
    let stage = Stage::new(vec![hook], around_call("search", Repeat::Safe)).giving([failed()]);
    assert_eq!((stage.run().await.outcome, stage.ran()), (Outcome::Succeeded, 2));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_a_layer_gave_up_is_stopped_before_the_next() {
    let hook = custom(|mut inside, request| {
        async move {
            let cut = tokio::time::timeout(SECOND, inside.call(request.clone())).await;
            assert!(cut.is_err());
            inside.call(request).await
        }
        .boxed()
    });
    let running = AtomicU32::new(0);
    let attempts = AtomicU32::new(0);
    let inside = |_| async {
        let first = attempts.fetch_add(1, Ordering::Relaxed) == 0;
        let guard = Counted::new(&running);
        assert_eq!(running.load(Ordering::Relaxed), 1);
        tokio::time::sleep(if first { 10 * SECOND } else { SECOND }).await;
        drop(guard);
        Ok(succeeded())
    };
    let settlement = Chain::new(vec![hook]).run(&around_call("search", Repeat::Safe), inside).await.unwrap();
    assert_eq!((settlement.outcome, attempts.load(Ordering::Relaxed)), (Outcome::Succeeded, 2));
}

struct Counted<'a>(&'a AtomicU32);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn another_error_of_a_layer_is_a_failure_of_the_hook() {
    let hook = custom(|_, _| async { Err("no route".into()) }.boxed());
    let error = Stage::new(vec![hook], around_call("pay", Repeat::Never)).result().await.unwrap_err();
    assert_eq!(error, HookError::new("a layer failed: no route"));
}

#[tokio::test]
async fn a_failure_inside_passes_outwards_whatever_the_layers_make_of_it() {
    let wrapping = custom(|mut inside, request| {
        let response = inside.call(request);
        async move { response.await.map_err(|_| "wrapped".into()) }.boxed()
    });
    let interrupted = around_fn(|_, _| Box::pin(async { Err(HookError::Interrupted) }));
    let stage = Stage::new(vec![wrapping, interrupted], around_call("pay", Repeat::Never));
    assert_eq!(stage.result().await.unwrap_err(), HookError::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn tools_that_it_is_not_for_do_not_enter_the_layers() {
    let hook = TowerHook::for_tool("search", TimeoutLayer::new(SECOND)).unwrap();
    assert_eq!(run(vec![hook], 2 * SECOND).await.outcome, Outcome::Succeeded);
    assert_eq!(TowerHook::for_tool("", TimeoutLayer::new(SECOND)).err().unwrap().field, "tool");
}
