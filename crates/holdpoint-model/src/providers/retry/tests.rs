use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use backon::BackoffBuilder;

use super::{RetryRule, Watched, retry_after, retrying};
use crate::error::{ModelError, ModelErrorKind};
use crate::model::{Delta, DeltaSink, NoDeltas};

const RULE: RetryRule = RetryRule {
    attempts_max: 4,
    delay_min: Duration::from_millis(100),
    delay_max: Duration::from_millis(350),
    total_max: Duration::from_secs(10),
};

fn failed(kind: ModelErrorKind) -> ModelError {
    ModelError::of(kind, "it failed")
}

#[test]
fn delays_grow_and_end_with_the_attempts() {
    let error = failed(ModelErrorKind::Overloaded);
    let delays: Vec<Option<Duration>> =
        RULE.backoff().build().map(|backoff| RULE.delay(&error, backoff, Duration::ZERO)).collect();
    let bounds = [100..=200, 200..=350, 350..=350];
    for (delay, bounds) in delays.iter().zip(bounds) {
        assert!(delay.is_some_and(|delay| bounds.contains(&delay.as_millis())), "{delays:?}");
    }
    assert_eq!(delays.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_get_better_is_not_tried_again() {
    use ModelErrorKind::{
        Auth, ContextTooLong, Garbage, InvalidRequest, Other, QuotaExceeded, Refused, TooLarge, TooSlow,
    };
    for kind in [Auth, ContextTooLong, Garbage, InvalidRequest, Other, QuotaExceeded, Refused, TooLarge, TooSlow] {
        let asked = AtomicU32::new(0);
        let reply: Result<(), ModelError> = retrying(RULE, &Watched::new(&NoDeltas), || async {
            asked.fetch_add(1, Ordering::Relaxed);
            Err(failed(kind))
        })
        .await;
        assert_eq!((reply, asked.into_inner()), (Err(failed(kind)), 1));
    }
}

#[test]
fn the_providers_wish_is_followed() {
    let error = failed(ModelErrorKind::RateLimited).retry_after(Some(Duration::from_secs(7)));
    assert_eq!(RULE.delay(&error, RULE.delay_min, Duration::ZERO), Some(Duration::from_secs(7)));
}

#[test]
fn a_wish_beyond_the_time_that_is_left_ends_it() {
    let error = failed(ModelErrorKind::RateLimited).retry_after(Some(Duration::from_secs(7)));
    assert_eq!(RULE.delay(&error, RULE.delay_min, Duration::from_secs(4)), None);
    let forever = failed(ModelErrorKind::RateLimited).retry_after(Some(Duration::MAX));
    assert_eq!(RULE.delay(&forever, RULE.delay_min, Duration::from_secs(4)), None);
}

#[test]
fn retry_after_is_read_in_every_form() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let cases = [
        (Some("3"), None, Some(3_000)),
        (Some(" 0.5 "), None, Some(500)),
        (Some("9"), Some("250"), Some(250)),
        (Some("Sun, 06 Nov 1994 08:49:47 GMT"), None, Some(10_000)),
        (Some("Sun, 06 Nov 1994 08:00:00 GMT"), None, Some(0)),
        (Some("soon"), None, None),
        (Some("-3"), None, None),
        (Some("1e999"), None, None),
        (None, Some("NaN"), None),
        (None, None, None),
    ];
    for (text, ms, expected) in cases {
        assert_eq!(retry_after(text, ms, now), expected.map(Duration::from_millis), "{text:?} {ms:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_made_again_until_it_works() {
    let asked = AtomicU32::new(0);
    let began = tokio::time::Instant::now();
    let deltas = Watched::new(&NoDeltas);
    let reply = retrying(RULE, &deltas, || async {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(failed(ModelErrorKind::RateLimited).retry_after(Some(Duration::from_secs(2)))),
            1 => Err(failed(ModelErrorKind::Connection)),
            _ => Ok("here"),
        }
    });
    assert_eq!(reply.await, Ok("here"));
    assert_eq!(asked.into_inner(), 3);
    assert!(began.elapsed() >= Duration::from_millis(2_200));
}

#[derive(Default)]
struct Listener(Mutex<String>);

impl DeltaSink for Listener {
    fn listens(&self) -> bool {
        true
    }

    fn take(&self, delta: Delta<'_>) {
        if let (Delta::Text(text), Ok(mut seen)) = (delta, self.0.lock()) {
            seen.push_str(text);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_listener_saw_is_not_shown_twice() {
    let listener = Listener::default();
    let asked = AtomicU32::new(0);
    let deltas = Watched::new(&listener);
    let reply: Result<(), ModelError> = retrying(RULE, &deltas, || async {
        asked.fetch_add(1, Ordering::Relaxed);
        deltas.take(Delta::Text("once "));
        Err(failed(ModelErrorKind::Cut))
    })
    .await;
    assert_eq!(reply, Err(failed(ModelErrorKind::Cut)));
    assert_eq!(asked.into_inner(), 1);
    assert_eq!(*listener.0.lock().unwrap(), "once ");
}

#[tokio::test(start_paused = true)]
async fn without_a_listener_a_cut_reply_is_asked_for_again() {
    let asked = AtomicU32::new(0);
    let deltas = Watched::new(&NoDeltas);
    let reply = retrying(RULE, &deltas, || async {
        deltas.take(Delta::Text("half a "));
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Err(failed(ModelErrorKind::Cut)),
            _ => Ok(()),
        }
    });
    assert_eq!(reply.await, Ok(()));
}
