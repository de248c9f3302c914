use std::sync::Arc;
use std::time::Instant;

use super::{KEPT, Noted};
use crate::limits::{WORKER_NAMES_MAX, WORKER_NOTED_EVERY};

fn name(text: &str) -> Arc<str> {
    text.into()
}

#[test]
fn a_worker_is_noted_now_and_then() {
    let (noted, now) = (Noted::default(), Instant::now());
    let (token, worker) = (name("hands"), name("hands/one"));
    assert_eq!(noted.due(&token, &worker, now), Some(worker.clone()));
    assert_eq!(noted.due(&token, &worker, now), None);
    assert_eq!(noted.due(&token, &name("hands/two"), now), Some(name("hands/two")));
    assert_eq!(noted.due(&token, &worker, now + WORKER_NOTED_EVERY), Some(worker));
}

#[test]
fn a_token_has_so_many_names_and_no_more() {
    let (noted, now) = (Noted::default(), Instant::now());
    let token = name("hands");
    for number in 0..WORKER_NAMES_MAX {
        let worker = name(&format!("hands/{number}"));
        assert_eq!(noted.due(&token, &worker, now), Some(worker));
    }
    assert_eq!(noted.due(&token, &name("hands/more"), now), Some(token.clone()), "all others are the token");
    assert_eq!(noted.due(&token, &name("hands/even more"), now), None);
    // Other tokens have names of their own, and what the store forgot counts no more.
    assert_eq!(noted.due(&name("other"), &name("other/w"), now), Some(name("other/w")));
    assert_eq!(noted.due(&token, &name("hands/later"), now + KEPT), Some(name("hands/later")));
}
