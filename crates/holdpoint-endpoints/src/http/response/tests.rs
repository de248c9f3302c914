//! Media types.

use super::*;

fn kind(media_type: &str) -> String {
    match Kind::of(Some(media_type)) {
        Kind::Text => "text".to_owned(),
        Kind::Json => "json".to_owned(),
        Kind::Other(kind) => kind.to_string(),
    }
}

#[test]
fn media_types_are_told_apart() {
    for (media_type, wanted) in [
        ("application/json", "json"),
        ("application/json; charset=utf-8", "json"),
        ("application/vnd.api+json", "json"),
        ("text/html;charset=latin1", "text"),
        ("text/csv", "text"),
        ("application/xml", "text"),
        ("application/atom+xml", "text"),
        ("application/x-ndjson", "text"),
        ("image/svg+xml", "text"),
        ("image/png", "image/png"),
        ("application/octet-stream", "application/octet-stream"),
        ("", ""),
        ("nonsense", "nonsense"),
    ] {
        assert_eq!(kind(media_type), wanted, "{media_type}");
    }
    assert!(matches!(Kind::of(None), Kind::Text));
}

#[test]
fn a_pointer_finds_what_it_names_and_keeps_every_digit() {
    let text = r#"{"a/b":{"~":[1,{"id":123456789012345678901234567890,"far":1e400}]}}"#;
    assert_eq!(at(text, "/a~1b/~0/1/id").as_deref(), Some("123456789012345678901234567890"));
    assert_eq!(at(text, "/a~1b/~0/1/far").as_deref(), Some("1e400"));
    assert_eq!(at(text, "").as_deref(), Some(text));
    for none in ["/a", "/a~1b/~0/2", "/a~1b/~0/01", "/a~1b/~0/-", "/a~1b/~0/1/id/0", "/"] {
        assert_eq!(at(text, none), None, "{none}");
    }
}
