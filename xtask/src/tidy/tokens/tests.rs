use super::{Code, Function};

fn paths(text: &str) -> Vec<String> {
    Code::read(text).unwrap().paths.iter().map(|(parts, _)| parts.join("::")).collect()
}

#[test]
fn grouped_imports_are_spelled_out() {
    let found = paths("use std::{fs, time::{Duration, Instant}, net::*};");
    for path in ["std::fs", "std::time::Duration", "std::time::Instant", "std::net::*"] {
        assert!(found.contains(&path.to_owned()), "{path} is missing in {found:?}");
    }
}

#[test]
fn paths_are_found_in_expressions_and_inside_macros() {
    let found = paths("fn f() { std::env::args(); assert!(std::fs::exists(\"x\")); }");
    assert!(found.contains(&"std::env::args".to_owned()) && found.contains(&"std::fs::exists".to_owned()));
}

#[test]
fn strings_and_comments_are_not_code() {
    assert_eq!(paths("/// std::fs\n// std::net\nfn f() -> &'static str { \"std::env\" }"), Vec::<String>::new());
}

#[test]
fn function_lines_count_from_the_signature_to_the_closing_brace() {
    let code = Code::read("fn a(\n    x: fn(u8) -> u8,\n) {\n    x(\n        1);\n}\ntrait T { fn b(); }").unwrap();
    assert_eq!(code.functions, [Function { name: "a".to_owned(), line: 1, lines: 6 }]);
}

#[test]
fn macros_and_attributes_are_known_by_name() {
    let code = Code::read("#[ignore = \"slow\"] fn f() { a != b; std::println!(\"x\"); }").unwrap();
    assert_eq!(code.macros, [("println".to_owned(), 1)]);
    assert_eq!(code.attributes, [("ignore".to_owned(), 1)]);
}
