use holdpoint::codec::Shown;
use serde_json::json;

use super::pause_of;

#[test]
fn a_question_that_was_asked_before_is_answered_by_its_pause() {
    let pause = |more: serde_json::Value| {
        let mut question = json!({"continuation_id": "r.p2", "batch_id": "r.b1"});
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pause_of(&Shown::of(&question))
    };
    assert_eq!(pause(json!({})), None);
    assert_eq!(pause(json!({"again": false, "doubt": null})), None);
    assert_eq!(pause(json!({"again": true})).as_deref(), Some("r.p2"));
    assert_eq!(pause(json!({"doubt": {"attempt": 1}})).as_deref(), Some("r.p2"));
    // While the run is busy there is none.
    assert_eq!(pause(json!({"again": true, "continuation_id": null})), None);
}
