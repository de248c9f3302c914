use super::{Code, Function, Trait};

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
    let sizes: Vec<_> =
        code.functions.iter().map(|function| (&*function.name, function.line, function.lines)).collect();
    assert_eq!(sizes, [("a", 1, 6), ("b", 7, 1)]);
}

fn tuples(parameters: &str) -> Vec<usize> {
    let code = Code::read(&format!("fn f{parameters} {{}}")).unwrap();
    let [Function { tuples, .. }] = &code.functions[..] else { panic!("one function") };
    tuples.clone()
}

#[test]
fn parameters_that_are_tuples_are_found_by_pattern_and_by_type() {
    assert_eq!(tuples("(&self, (a, b): (u8, u8), c: u8)"), [1]);
    assert_eq!(tuples("(a: (u8, u8), &(b, c): &(u8, u8))"), [0, 1]);
    assert_eq!(tuples("<'a, T: Fn(u8, u8)>(a: &'a mut (u8, T), (b, c): Pair)"), [0, 1]);
    assert_eq!(tuples("(#[cfg(unix)] (a, b): std::Pair<u8, u8>)"), [0]);
}

#[test]
fn parameters_that_only_contain_tuples_or_parentheses_are_none() {
    for parameters in [
        "(a: Vec<(u8, u8)>, b: HashMap<u8, (u8, u8)>)",
        "(a: &(dyn Fn(u8, u8) + Send), b: impl Fn((u8, u8)) -> u8, c: fn(u8, u8))",
        "(Wrapped(a): Wrapped, [b, c]: [u8; 2], (): ())",
        "(a: impl Fn(u8) -> Result<u8, u8>, b: u8)",
    ] {
        assert_eq!(tuples(parameters), Vec::<usize>::new(), "{parameters}");
    }
}

#[test]
fn methods_of_a_trait_are_counted_without_their_types() {
    let code = Code::read("pub trait T: A { type B; fn a(&self, f: fn()); async fn b() { fn c() {} } }").unwrap();
    assert_eq!(code.traits, [Trait { name: "T".to_owned(), line: 1, methods: 2 }]);
}

#[test]
fn macros_and_attributes_are_known_by_name() {
    let code = Code::read("#[ignore = \"slow\"] fn f() { a != b; std::println!(\"x\"); }").unwrap();
    assert_eq!(code.macros, [("println".to_owned(), 1)]);
    assert_eq!(code.attributes, [("ignore".to_owned(), 1)]);
}
