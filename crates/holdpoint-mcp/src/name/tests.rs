use std::collections::HashSet;

use super::*;

fn server(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

#[test]
fn a_plain_name_is_joined_to_its_server() {
    assert_eq!(registered_name(&server("files"), "read_file"), "files__read_file");
    assert_eq!(registered_name(&server("a-1"), "get-sum"), "a-1__get-sum");
}

#[test]
fn a_name_that_models_do_not_accept_is_changed_and_stays_the_same() {
    let name = registered_name(&server("s"), "read file/now");
    assert_eq!(name, registered_name(&server("s"), "read file/now"));
    assert!(name.starts_with("s__read_file_now_"), "{name}");
    assert_eq!(name.len(), "s__read_file_now_".len() + HASH_DIGITS);
}

#[test]
fn a_long_name_is_cut_and_told_apart_by_its_hash() {
    let server = server("server");
    let one = registered_name(&server, &"x".repeat(200));
    let other = registered_name(&server, &"x".repeat(201));
    assert_eq!((one.len(), other.len()), (MAX_REGISTERED_NAME_BYTES, MAX_REGISTERED_NAME_BYTES));
    assert_ne!(one, other);
}

#[test]
fn hostile_names_become_different_names_that_every_model_accepts() {
    let long = "y".repeat(5000);
    let hostile = [
        "",
        " ",
        ".",
        "..",
        "a.b",
        "a_b",
        "a b",
        "a\0b",
        "a\nb",
        "a/b",
        "a\\b",
        "ä",
        "a\u{202e}b",
        "a\u{200b}b",
        "🦀",
        "__",
        "_",
        "s__a",
        "*",
        "a*",
        "mcp:s",
        "${PATH}",
        "<script>",
        "a_0123456789ab",
        &long,
    ];
    let server = server("s");
    let names: HashSet<String> = hostile.iter().map(|tool| registered_name(&server, tool)).collect();
    assert_eq!(names.len(), hostile.len());
    for name in names {
        assert!(name.len() <= MAX_REGISTERED_NAME_BYTES && name.bytes().all(is_plain), "{name}");
        assert!(name.starts_with("s__"), "{name}");
    }
}

#[test]
fn nobody_takes_a_changed_name_by_choosing_it() {
    let server = server("s");
    let changed = registered_name(&server, "a b");
    let chosen = changed.strip_prefix("s__").unwrap();
    assert_ne!(registered_name(&server, chosen), changed);
}

#[test]
fn a_name_of_a_server_cannot_hide_where_it_ends() {
    for name in ["", "a__b", "a_", "a b", "ä", "a/b", &"a".repeat(33)] {
        assert!(ServerName::new(name).is_err(), "{name}");
    }
    for name in ["a", "a_b", "A-1", &"a".repeat(32)] {
        assert!(ServerName::new(name).is_ok(), "{name}");
    }
}
