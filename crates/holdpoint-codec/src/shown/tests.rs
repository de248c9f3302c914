use serde_json::json;

use super::Shown;

const EXACT: &str = r#"{"n":123456789012345678901234567890,"list":[18446744073709551617,1.5]}"#;

#[test]
fn no_number_loses_a_digit() {
    let shown: Shown = serde_json::from_str(EXACT).unwrap();
    assert_eq!(shown.to_string(), EXACT);
    assert_eq!(Shown::of(&shown).to_string(), EXACT);
    assert_eq!(Shown::default().with("inner", &shown).to_string(), format!(r#"{{"inner":{EXACT}}}"#));
    assert_eq!(shown.raw("n").unwrap().get(), "123456789012345678901234567890");
}

#[test]
fn members_stay_in_their_places() {
    let mut shown = Shown::of(&json!({"a": 1, "b": "x"}));
    shown.set("c", &[true]);
    shown.set("a", &2);
    assert_eq!(shown.to_string(), r#"{"a":2,"b":"x","c":[true]}"#);
    assert_eq!((shown.text("b").as_deref(), shown.text("a")), (Some("x"), None));
    assert_eq!(shown.take("b").unwrap().get(), r#""x""#);
    assert_eq!((shown.value("b"), shown.to_value()), (json!(null), json!({"a": 2, "c": [true]})));
}

#[test]
fn only_objects_have_members_and_debug_shows_their_names() {
    assert!(Shown::of(&json!([1])).is_empty());
    serde_json::from_str::<Shown>("[1]").unwrap_err();
    assert_eq!(format!("{:?}", Shown::of(&json!({"secret": "sesame"}))), r#"{"secret"}"#);
}
