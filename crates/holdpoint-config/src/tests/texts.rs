//! Names, durations, secrets and printable text.

use proptest::prelude::*;
use secrecy::ExposeSecret;

use crate::{Millis, SecretError, SecretSource, nearest, printable, suggestion};

#[test]
fn a_near_name_is_suggested_and_a_far_one_is_not() {
    let known = ["approvers", "quorum", "tool", "when"];
    for (written, wanted) in
        [("aprovers", Some("approvers")), ("tools", Some("tool")), ("whne", Some("when")), ("colour", None), ("", None)]
    {
        assert_eq!(nearest(written, known), wanted, "{written}");
    }
    assert_eq!(nearest("", []), None);
    assert_eq!(nearest(&"x".repeat(10_000), known), None);
}

#[test]
fn a_suggestion_is_the_nearest_name_its_continuations_or_all_names() {
    assert_eq!(suggestion("lisen", ["listen", "store"]), "did you mean `listen`?");
    assert_eq!(suggestion("api_key", ["api_key_env", "api_key_file"]), "did you mean `api_key_env` or `api_key_file`?");
    assert_eq!(suggestion("database", ["listen", "store"]), "known are `listen`, `store`");
}

#[test]
fn durations_have_a_whole_number_and_a_unit() {
    for (text, ms) in [
        ("500ms", Some(500)),
        ("90s", Some(90_000)),
        ("30m", Some(1_800_000)),
        ("4h", Some(14_400_000)),
        ("2d", Some(172_800_000)),
        ("4", None),
        ("h", None),
        ("", None),
        ("-4h", None),
        ("1.5h", None),
        ("4 h", None),
        ("4H", None),
        ("4hh", None),
        ("99999999999999999999d", None),
        ("18446744073709551615d", None),
    ] {
        assert_eq!(text.parse().ok(), ms.map(Millis), "{text}");
    }
}

#[test]
fn deceptive_characters_are_shown_as_escapes() {
    assert_eq!(printable::line("a\nb\u{1b}[2Jc\u{202e}d"), "a\\u{a}b\\u{1b}[2Jc\\u{202e}d");
    assert_eq!(printable::lines("a\n\tb\r\u{200b}"), "a\n\tb\\u{d}\\u{200b}");
    assert_eq!(printable::line("grüße, 世界 🙂"), "grüße, 世界 🙂");
    assert_eq!(printable::line("a\u{feff}c tag\u{e0041}\t"), "a\\u{feff}c tag\\u{e0041}\\u{9}");
    assert_eq!(printable::excerpt(&"ü".repeat(100)), "ü".repeat(64));
}

#[test]
fn secrets_come_from_variables_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let of_file = SecretSource::File("token".into()).in_folder(folder.path());
    let missing = of_file.read().unwrap_err().to_string();
    assert_eq!(missing, format!("the file `{}` cannot be read: entity not found", path.display()));
    std::fs::write(&path, "t0ken\r\n").unwrap();
    assert_eq!(of_file.read().unwrap().expose_secret(), "t0ken");
    std::fs::write(&path, " \n").unwrap();
    assert_eq!(of_file.read().unwrap_err(), SecretError::Empty);
    std::fs::write(&path, "x".repeat(64 * 1024 + 1)).unwrap();
    assert_eq!(
        of_file.read().unwrap_err().to_string(),
        format!("the file `{}` has more than 65536 bytes", path.display())
    );

    let of_variable = SecretSource::Env("TOKEN".to_owned());
    assert_eq!(of_variable.read_with(|_| None).unwrap_err().to_string(), "the variable `TOKEN` is not set");
    let secret = of_variable.read_with(|name| Some(format!("{name}-value"))).unwrap();
    assert_eq!(secret.expose_secret(), "TOKEN-value");
    assert!(!format!("{secret:?}").contains("value"));
}

proptest! {
    #[test]
    fn no_text_makes_a_duration_or_a_suggestion_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<Millis>();
        let _ = suggestion(&text, ["listen", "store"]);
    }
}
