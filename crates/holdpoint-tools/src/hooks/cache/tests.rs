//! What is used again, for whom, for how long, and that equal calls at once execute once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU32};

use futures_util::future::join_all;
use holdpoint_codec::Context;
use holdpoint_core::{Actor, Code};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::testing::{Stage, around_call, failed, settlement, succeeded};
use super::*;
use crate::Chain;
use crate::testing::call_in;

fn safe(tool: &str) -> AroundCall {
    around_call(tool, Repeat::Safe)
}

/// A call of one safe tool.
fn asking(arguments: &str, context: Context) -> AroundCall {
    AroundCall::new(Arc::clone(safe("look").definition()), call_in("look", arguments, context))
}

fn tenant(name: &str) -> Context {
    Context::new().by(Actor { tenant: Some(name.into()), ..Actor::default() })
}

/// Whether calls of one cache executed.
struct Shop {
    cache: Arc<Cache>,
    chain: Chain,
    ran: AtomicU32,
    takes: Duration,
    gives: Mutex<Vec<Result<Settlement, HookError>>>,
}

impl Shop {
    fn new(builder: CacheBuilder) -> Self {
        let cache = builder.build().unwrap();
        let hook: Arc<dyn Around> = cache.clone();
        let chain = Chain::new(vec![hook]);
        Self { cache, chain, ran: AtomicU32::new(0), takes: Duration::ZERO, gives: Mutex::default() }
    }

    fn taking(mut self, seconds: u64) -> Self {
        self.takes = Duration::from_secs(seconds);
        self
    }

    /// The first executions give these, all others succeed.
    fn giving(self, results: Vec<Result<Settlement, HookError>>) -> Self {
        *self.gives.lock().unwrap() = results.into_iter().rev().collect();
        self
    }

    async fn result(&self, call: &AroundCall) -> Result<Settlement, HookError> {
        let inside = |_| async {
            self.ran.fetch_add(1, Ordering::Relaxed);
            if self.takes.is_zero() {
                // Others get a chance to come in between.
                tokio::task::yield_now().await;
            } else {
                sleep(self.takes).await;
            }
            self.gives.lock().unwrap().pop().unwrap_or_else(|| Ok(succeeded()))
        };
        // Each call has an execution of its own.
        self.chain.run(&call.clone(), inside).await
    }

    async fn ask(&self, call: &AroundCall) -> Option<Source> {
        self.result(call).await.unwrap().source
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::Relaxed)
    }
}

/// How many results it holds, those that nobody can get any more included.
async fn held(cache: &Cache) -> u64 {
    cache.entries.run_pending_tasks().await;
    cache.entries.entry_count()
}

#[tokio::test]
async fn an_equal_call_is_answered_from_the_cache_and_marked() {
    let shop = Shop::new(Cache::builder());
    let first = shop.result(&asking(r#"{"a":1,"b":2}"#, Context::new())).await.unwrap();
    assert_eq!(first.source, Some(Source::Tool));
    let again = shop.result(&asking(r#"{"b":2,"a":1}"#, Context::new())).await.unwrap();
    assert_eq!((again.outcome, again.source, again.code), (Outcome::Succeeded, Some(Source::Cache), None));
    assert_eq!((again.result.text(), again.latency_us), (first.result.text(), 0));
    assert_eq!(shop.ask(&asking(r#"{"a":1}"#, Context::new())).await, Some(Source::Tool));
    assert_eq!(shop.ran(), 2);
}

#[tokio::test]
async fn tools_that_are_not_safe_to_repeat_are_never_answered_from_it() {
    for repeat in [Repeat::Never, Repeat::WithKey] {
        let stage = Stage::new(vec![Cache::builder().build().unwrap()], around_call("pay", repeat));
        stage.run().await;
        assert_eq!(stage.run().await.source, Some(Source::Tool));
        assert_eq!(stage.ran(), 2);
    }
}

#[test]
fn a_cache_that_names_a_tool_that_is_not_safe_is_refused() {
    for repeat in [Repeat::Never, Repeat::WithKey] {
        let error = Cache::builder().tool(around_call("pay", repeat).definition()).build().unwrap_err();
        assert_eq!((error.hook, error.field), ("cache", "tool"));
        assert!(error.to_string().contains("`pay`"));
    }
    assert!(Cache::builder().tool(safe("look").definition()).build().is_ok());
}

#[test]
fn impossible_settings_are_refused_by_name() {
    let field = |builder: CacheBuilder| builder.build().unwrap_err().field;
    assert_eq!(field(Cache::builder().ttl(Duration::ZERO)), "ttl_ms");
    assert_eq!(field(Cache::builder().max_entries(0)), "max_entries");
    assert_eq!(field(Cache::builder().tools("[")), "tool");
}

#[tokio::test]
async fn only_answers_of_the_tool_itself_are_kept() {
    let not_kept = [
        failed(),
        settlement(Outcome::Halted, None),
        settlement(Outcome::TimedOut, Some(Code::TimedOut)),
        settlement(Outcome::Cancelled, None),
        Settlement { source: Some(Source::DryRun), ..succeeded() },
        Settlement { source: Some(Source::Hook), ..succeeded() },
        Settlement { source: Some(Source::Cache), ..succeeded() },
    ];
    for settlement in not_kept {
        let shop = Shop::new(Cache::builder()).giving(vec![Ok(settlement.clone())]);
        let call = safe("look");
        assert_eq!(shop.result(&call).await.unwrap().outcome, settlement.outcome);
        assert_eq!(shop.ask(&call).await, Some(Source::Tool), "{:?}", settlement.outcome);
        assert_eq!(shop.ran(), 2);
        assert_eq!(shop.ask(&call).await, Some(Source::Cache));
    }
}

#[tokio::test]
async fn a_failure_inside_passes_outwards_and_is_not_kept() {
    let gives = vec![Err(HookError::Interrupted), Err(HookError::new("no"))];
    let shop = Shop::new(Cache::builder()).giving(gives);
    assert_eq!(shop.result(&safe("look")).await.unwrap_err(), HookError::Interrupted);
    assert_eq!(shop.result(&safe("look")).await.unwrap_err(), HookError::new("no"));
    assert_eq!(shop.ask(&safe("look")).await, Some(Source::Tool));
}

#[tokio::test]
async fn tenants_and_contexts_do_not_share_results_by_accident() {
    let shop = Shop::new(Cache::builder());
    let ask = async |context: Context| shop.ask(&asking("{}", context)).await;
    for context in [
        Context::new(),
        tenant("acme"),
        tenant("other"),
        tenant("acme").with("user", "ann"),
        tenant("acme").with("user", "bob"),
        tenant("acme").with("user", "ann").with("locale", "en"),
    ] {
        assert_eq!(ask(context.clone()).await, Some(Source::Tool), "{context:?}");
        assert_eq!(ask(context.clone()).await, Some(Source::Cache), "{context:?}");
    }
}

#[tokio::test]
async fn listed_attributes_tell_contexts_apart_and_others_do_not() {
    let shop = Shop::new(Cache::builder().context_keys(["user"]));
    let ask = async |context: Context| shop.ask(&asking("{}", context)).await;
    assert_eq!(ask(tenant("acme").with("user", "ann").with("trace", 1)).await, Some(Source::Tool));
    assert_eq!(ask(tenant("acme").with("user", "ann").with("trace", 2)).await, Some(Source::Cache));
    assert_eq!(ask(tenant("acme").with("user", "bob").with("trace", 2)).await, Some(Source::Tool));
    assert_eq!(ask(tenant("other").with("user", "ann")).await, Some(Source::Tool));
    assert_eq!(ask(tenant("acme").with("trace", 2)).await, Some(Source::Tool));
}

#[tokio::test]
async fn a_shared_cache_is_shared_by_tenants_and_contexts() {
    let shop = Shop::new(Cache::builder().shared());
    assert_eq!(shop.ask(&asking("{}", tenant("acme").with("user", "ann"))).await, Some(Source::Tool));
    assert_eq!(shop.ask(&asking("{}", tenant("other").with("user", "bob"))).await, Some(Source::Cache));
}

#[tokio::test]
async fn another_tool_or_version_has_results_of_its_own() {
    let shop = Shop::new(Cache::builder());
    let versioned = |version: &str| {
        let mut definition = (**safe("look").definition()).clone();
        definition.metadata.version = Some(version.into());
        AroundCall::new(Arc::new(definition), call_in("look", "{}", Context::new()))
    };
    for call in [asking("{}", Context::new()), versioned("1"), versioned("2"), safe("other")] {
        assert_eq!(shop.ask(&call).await, Some(Source::Tool));
        assert_eq!(shop.ask(&call).await, Some(Source::Cache));
    }
}

#[tokio::test]
async fn a_result_is_used_until_its_time_is_over() {
    let now = Arc::new(AtomicI64::new(1_000_000));
    let clock = Arc::clone(&now);
    let time: TimeSource = Arc::new(move || Timestamp(clock.load(Ordering::Relaxed)));
    let shop = Shop::new(Cache::builder().ttl(Duration::from_secs(10)).time(time));
    let call = safe("look");
    assert_eq!(shop.ask(&call).await, Some(Source::Tool));
    now.fetch_add(9_999_000, Ordering::Relaxed);
    assert_eq!(shop.ask(&call).await, Some(Source::Cache));
    now.fetch_add(1_000, Ordering::Relaxed);
    assert_eq!(shop.ask(&call).await, Some(Source::Tool));
    assert_eq!(shop.ask(&call).await, Some(Source::Cache), "the new result replaced the old one");
    assert_eq!(held(&shop.cache).await, 1);
}

#[tokio::test]
async fn it_holds_no_more_than_it_may() {
    let shop = Shop::new(Cache::builder().max_entries(10));
    for number in 0..200 {
        shop.ask(&asking(&format!(r#"{{"n":{number}}}"#), Context::new())).await;
    }
    assert_eq!(shop.ran(), 200);
    assert!(held(&shop.cache).await <= 10);
}

#[tokio::test]
async fn what_is_forgotten_executes_again() {
    let shop = Shop::new(Cache::builder());
    for call in [safe("look"), safe("other")] {
        shop.ask(&call).await;
    }
    shop.cache.invalidate_tool("look");
    assert_eq!(shop.ask(&safe("look")).await, Some(Source::Tool));
    assert_eq!(shop.ask(&safe("other")).await, Some(Source::Cache));
    shop.cache.invalidate_all();
    assert_eq!(shop.ask(&safe("look")).await, Some(Source::Tool));
    assert_eq!(shop.ask(&safe("other")).await, Some(Source::Tool));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_under_way_when_it_was_forgotten_is_not_found_later() {
    let shop = Shop::new(Cache::builder()).taking(2);
    let call = safe("look");
    let (first, ()) = tokio::join!(shop.ask(&call), async {
        sleep(Duration::from_secs(1)).await;
        shop.cache.invalidate_tool("look");
    });
    assert_eq!(first, Some(Source::Tool));
    assert_eq!(shop.ask(&call).await, Some(Source::Tool));
}

#[tokio::test(start_paused = true)]
async fn of_many_equal_calls_at_once_one_executes() {
    let shop = Shop::new(Cache::builder()).taking(5);
    let begun = Instant::now();
    let call = safe("look");
    let mut sources = join_all((0..50).map(|_| shop.ask(&call))).await;
    assert_eq!((shop.ran(), begun.elapsed().as_secs()), (1, 5));
    sources.retain(|source| *source == Some(Source::Cache));
    assert_eq!(sources.len(), 49);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_equal_calls_on_many_threads_one_executes_per_key() {
    let shop = Arc::new(Shop::new(Cache::builder()));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..500 {
        let shop = Arc::clone(&shop);
        let call = asking(&format!(r#"{{"n":{}}}"#, number % 10), Context::new());
        tasks.spawn(async move { shop.ask(&call).await });
    }
    let sources = tasks.join_all().await;
    assert_eq!(shop.ran(), 10);
    assert_eq!(sources.iter().filter(|source| **source == Some(Source::Tool)).count(), 10);
}

#[tokio::test(start_paused = true)]
async fn different_calls_do_not_wait_for_each_other() {
    let shop = Shop::new(Cache::builder()).taking(5);
    let begun = Instant::now();
    let calls: Vec<AroundCall> = (0..20).map(|n| asking(&format!(r#"{{"n":{n}}}"#), Context::new())).collect();
    join_all(calls.iter().map(|call| shop.ask(call))).await;
    assert_eq!((shop.ran(), begun.elapsed().as_secs()), (20, 5));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_fails_lets_the_next_one_try() {
    let gives = vec![Ok(failed()), Err(HookError::Interrupted)];
    let shop = Shop::new(Cache::builder()).taking(1).giving(gives);
    let call = safe("look");
    let results = join_all((0..6).map(|_| shop.result(&call))).await;
    assert_eq!(shop.ran(), 3);
    let count = |wanted: fn(&Result<Settlement, HookError>) -> bool| results.iter().filter(|one| wanted(one)).count();
    assert_eq!(count(|one| one.as_ref().is_ok_and(|one| one.outcome == Outcome::Failed)), 1);
    assert_eq!(count(Result::is_err), 1);
    assert_eq!(count(|one| one.as_ref().is_ok_and(|one| one.source == Some(Source::Cache))), 3);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_lets_the_next_one_try() {
    let shop = Shop::new(Cache::builder()).taking(10);
    let call = safe("look");
    let leader = tokio::time::timeout(Duration::from_secs(1), shop.ask(&call));
    let (dropped, followed) = tokio::join!(leader, shop.ask(&call));
    assert!(dropped.is_err());
    assert_eq!((followed, shop.ran()), (Some(Source::Tool), 2));
}

#[tokio::test(start_paused = true)]
async fn a_follower_stops_waiting_when_it_is_cancelled_or_held_too_long() {
    let shop = Shop::new(Cache::builder()).taking(100);
    let begun = Instant::now();
    let token = CancellationToken::new();
    let given_up = call_in("look", "{}", Context::new()).with_cancellation(token.clone());
    let given_up = AroundCall::new(Arc::clone(safe("look").definition()), given_up);
    let call = asking("{}", Context::new());
    let timed = async |call: &AroundCall| (shop.result(call).await, begun.elapsed().as_secs());
    let (leader, patient, given_up, ()) = tokio::join!(timed(&call), timed(&call), timed(&given_up), async {
        sleep(Duration::from_secs(7)).await;
        token.cancel();
    });
    assert_eq!((leader.0.unwrap().source, leader.1), (Some(Source::Tool), 100));
    assert_eq!((patient.0.unwrap().code, patient.1), (Some(Code::RateLimited), 60));
    assert_eq!((given_up.0.unwrap_err(), given_up.1), (HookError::Interrupted, 7));
    assert_eq!(shop.ran(), 1);
}
