//! Waiting and refusing, what has a rate of its own, and the bound on keys. Time is tokio's, which stands still.

use std::sync::Mutex;

use futures_util::future::join_all;
use holdpoint_codec::Context;
use holdpoint_core::{Actor, Outcome, Repeat, Source};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::super::testing::{around_call, succeeded};
use super::lanes::KEYS_MAX;
use super::*;
use crate::Chain;
use crate::testing::call_in;

async fn pass(limit: &Arc<RateLimit>, call: &AroundCall) -> Result<Settlement, HookError> {
    let hook: Arc<dyn Around> = limit.clone();
    Chain::new(vec![hook]).run(call, |_| async { Ok(succeeded()) }).await
}

fn of(tool: &str) -> AroundCall {
    around_call(tool, Repeat::Never)
}

fn within_context(context: Context) -> AroundCall {
    AroundCall::new(Arc::clone(of("a").definition()), call_in("a", "{}", context))
}

fn by_tenant(tenant: &str) -> AroundCall {
    within_context(Context::new().by(Actor { tenant: Some(tenant.into()), ..Actor::default() }))
}

fn by_user(user: impl Into<Value>) -> AroundCall {
    within_context(Context::new().with("user", user))
}

async fn passes(limit: &Arc<RateLimit>, call: &AroundCall) -> bool {
    let settlement = pass(limit, call).await.unwrap();
    assert!(settlement.code.is_none() || settlement.code == Some(Code::RateLimited));
    settlement.outcome == Outcome::Succeeded
}

#[tokio::test(start_paused = true)]
async fn calls_above_the_rate_wait_their_turn_in_the_order_they_came() {
    let (begun, order) = (Instant::now(), Mutex::new(Vec::new()));
    let limit = RateLimit::per_second(2).burst(1).build().unwrap();
    let calls = (0..5).map(async |number| {
        assert!(passes(&limit, &of("a")).await);
        order.lock().unwrap().push((number, begun.elapsed().as_millis() / 100));
    });
    join_all(calls).await;
    assert_eq!(*order.lock().unwrap(), [(0, 0), (1, 5), (2, 10), (3, 15), (4, 20)]);
}

#[tokio::test(start_paused = true)]
async fn nobody_overtakes_those_who_wait() {
    let (begun, order) = (Instant::now(), Mutex::new(Vec::new()));
    let limit = RateLimit::per_second(1).build().unwrap();
    // The last one comes at the very moment when a turn is free, and is looked at before those who wait.
    let calls = [(3, 1), (0, 0), (1, 0), (2, 0)].map(async |(number, after): (u32, u64)| {
        sleep(Duration::from_secs(after)).await;
        assert!(passes(&limit, &of("a")).await);
        order.lock().unwrap().push((number, begun.elapsed().as_secs()));
    });
    join_all(calls).await;
    assert_eq!(*order.lock().unwrap(), [(0, 0), (1, 1), (2, 2), (3, 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_passes_at_once_and_comes_back_with_time() {
    let limit = RateLimit::per_second(1).burst(3).refuse().build().unwrap();
    let call = of("a");
    let mut passed = Vec::new();
    for _ in 0..4 {
        passed.push(passes(&limit, &call).await);
    }
    assert_eq!(passed, [true, true, true, false]);
    sleep(Duration::from_secs(2)).await;
    let mut passed = Vec::new();
    for _ in 0..3 {
        passed.push(passes(&limit, &call).await);
    }
    assert_eq!(passed, [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_window_spreads_its_calls() {
    let limit = RateLimit::builder(6, Duration::from_secs(60)).burst(1).build().unwrap();
    let begun = Instant::now();
    for _ in 0..3 {
        assert!(passes(&limit, &of("a")).await);
    }
    assert_eq!(begun.elapsed().as_secs(), 20);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_a_failed_result_that_names_the_tool_and_did_not_run() {
    let limit = RateLimit::per_second(1).refuse().build().unwrap();
    assert!(passes(&limit, &of("refund")).await);
    let refused = pass(&limit, &of("refund")).await.unwrap();
    assert_eq!((refused.outcome, refused.code), (Outcome::Failed, Some(Code::RateLimited)));
    assert_eq!(refused.source, Some(Source::Hook));
    assert!(refused.result.is_error());
    assert!(refused.result.text().contains("`refund`"));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_too_late_is_refused_at_once() {
    let limit = RateLimit::builder(1, Duration::from_secs(100)).build().unwrap();
    assert!(passes(&limit, &of("a")).await);
    let begun = Instant::now();
    assert!(!passes(&limit, &of("a")).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
    sleep(Duration::from_secs(50)).await;
    assert!(passes(&limit, &of("a")).await);
    assert_eq!(begun.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_long_line_ends_after_the_time_that_a_call_may_be_held() {
    let limit = RateLimit::builder(1, Duration::from_secs(25)).build().unwrap();
    let begun = Instant::now();
    let ended = join_all((0..5).map(async |_| (passes(&limit, &of("a")).await, begun.elapsed().as_secs()))).await;
    // The fourth gets to the head of the line and sees that its turn would be too late, and so does the fifth.
    assert_eq!(ended, [(true, 0), (true, 25), (true, 50), (false, 50), (false, 50)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_stops_waiting_and_takes_no_turn() {
    let limit = RateLimit::builder(1, Duration::from_secs(10)).build().unwrap();
    assert!(passes(&limit, &of("a")).await);
    let token = CancellationToken::new();
    let context = call_in("a", "{}", Context::new()).with_cancellation(token.clone());
    let cancelled = AroundCall::new(Arc::clone(of("a").definition()), context);
    let begun = Instant::now();
    let stopped = async {
        let result = pass(&limit, &cancelled).await;
        (result.unwrap_err(), begun.elapsed().as_secs())
    };
    let patient = async {
        assert!(passes(&limit, &of("a")).await);
        begun.elapsed().as_secs()
    };
    let (stopped, patient, ()) = tokio::join!(stopped, patient, async {
        sleep(Duration::from_secs(3)).await;
        token.cancel();
    });
    assert_eq!(stopped, (HookError::Interrupted, 3));
    assert_eq!(patient, 10);
}

#[tokio::test(start_paused = true)]
async fn each_tool_has_a_rate_of_its_own_unless_it_says_otherwise() {
    let per_tool = RateLimit::per_second(1).refuse().build().unwrap();
    assert!(passes(&per_tool, &of("a")).await);
    assert!(passes(&per_tool, &of("b")).await);
    assert!(!passes(&per_tool, &of("a")).await);

    let global = RateLimit::per_second(1).per(Per::Global).refuse().build().unwrap();
    assert!(passes(&global, &of("a")).await);
    assert!(!passes(&global, &of("b")).await);
}

#[tokio::test(start_paused = true)]
async fn tenants_and_keys_have_rates_of_their_own() {
    let tenants = RateLimit::per_second(1).per(Per::Tenant).refuse().build().unwrap();
    assert!(passes(&tenants, &by_tenant("acme")).await);
    assert!(passes(&tenants, &by_tenant("other")).await);
    assert!(!passes(&tenants, &by_tenant("acme")).await);
    assert!(passes(&tenants, &of("a")).await, "nobody in particular is one more");
    assert!(!passes(&tenants, &of("b")).await);

    let users = RateLimit::per_second(1).per(Per::Key("user".into())).refuse().build().unwrap();
    assert!(passes(&users, &by_user("ann")).await);
    assert!(passes(&users, &by_user(7)).await);
    assert!(passes(&users, &by_user(json!({"b": 1, "a": 2}))).await);
    assert!(!passes(&users, &by_user(json!({"a": 2, "b": 1}))).await);
    assert!(!passes(&users, &by_user("ann")).await);
    assert!(passes(&users, &of("a")).await, "calls without the attribute have one rate");
    assert!(!passes(&users, &of("a")).await);
}

#[tokio::test(start_paused = true)]
async fn tools_outside_its_scope_pass() {
    let limit = RateLimit::per_second(1).tool("refund*").per(Per::Global).refuse().build().unwrap();
    assert!(passes(&limit, &of("refund_all")).await);
    assert!(!passes(&limit, &of("refund")).await);
    assert!(passes(&limit, &of("lookup")).await);
}

fn with_keys(keys_max: usize, builder: RateLimitBuilder) -> Arc<RateLimit> {
    let mut limit = Arc::into_inner(builder.build().unwrap()).unwrap();
    limit.lanes.keys_max = keys_max;
    Arc::new(limit)
}

fn keys(limit: &RateLimit) -> usize {
    limit.lanes.kept.lock().unwrap().lanes.len()
}

#[tokio::test(start_paused = true)]
async fn keys_stay_within_a_bound_and_the_rest_share_one_rate() {
    let limit = with_keys(100, RateLimit::per_second(1).per(Per::Key("user".into())).refuse());
    let mut passed = 0;
    for user in 0..1000 {
        passed += u32::from(passes(&limit, &by_user(user)).await);
    }
    assert_eq!(keys(&limit), 100);
    assert_eq!(passed, 101, "a hundred have a rate of their own, and one call passed for all others");
    assert!(!passes(&limit, &by_user(5)).await, "who has a rate of its own keeps it");

    sleep(Duration::from_secs(5)).await;
    assert!(passes(&limit, &by_user("new")).await);
    assert_eq!(keys(&limit), 1, "the quiet ones are forgotten");
}

#[test]
fn there_are_never_more_keys_than_the_bound() {
    let limit = RateLimit::per_second(1).per(Per::Tenant).build().unwrap();
    for number in 0..KEYS_MAX + 50 {
        limit.lanes.lane(Some(&number.to_string()));
    }
    assert!(keys(&limit) <= KEYS_MAX);
}

#[test]
fn a_lane_that_somebody_holds_is_not_forgotten() {
    let limit = with_keys(1, RateLimit::per_second(1));
    let held = limit.lanes.lane(Some("a"));
    let other = limit.lanes.lane(Some("b"));
    assert!(!Arc::ptr_eq(&held, &other));
    assert!(Arc::ptr_eq(&held, &limit.lanes.lane(Some("a"))));
}

#[test]
fn impossible_rates_are_refused_by_name() {
    let field = |builder: RateLimitBuilder| builder.build().unwrap_err().field;
    assert_eq!(field(RateLimit::per_second(0)), "per_second");
    assert_eq!(field(RateLimit::per_second(u32::MAX)), "per_second");
    assert_eq!(field(RateLimit::per_second(1).burst(0)), "burst");
    assert_eq!(field(RateLimit::builder(1, Duration::from_secs(86_400)).burst(u32::MAX)), "burst");
    assert_eq!(field(RateLimit::builder(1, Duration::ZERO)), "window_ms");
    assert_eq!(field(RateLimit::builder(0, Duration::from_secs(1))), "calls");
    assert_eq!(field(RateLimit::per_second(1).tool("[")), "tool");
    assert_eq!(field(RateLimit::per_second(1).per(Per::Key("".into()))), "per");
}
