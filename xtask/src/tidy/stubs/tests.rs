use super::{MARKERS, check};
use crate::tidy::{Tree, messages};

fn problems(path: &str, text: &str) -> Vec<String> {
    messages(&check(&Tree::sample(&[(path, text)])))
}

#[test]
fn unfinished_code_is_a_problem() {
    for bad in ["fn f() { todo!() }", "fn f() { unimplemented!(\"later\") }"] {
        assert_eq!(problems("crates/x/src/lib.rs", bad).len(), 1, "{bad}");
    }
    for marker in MARKERS {
        assert_eq!(
            problems("a.rs", &format!("fn f() {{}}\n// {marker}: later\n")),
            [format!("a.rs:2: `{marker}`: finish it")]
        );
        assert_eq!(problems("a.rs", &format!("const A: &str = \"{marker}Y\";")), Vec::<String>::new());
    }
}

#[test]
fn ignored_tests_and_unsafe_code_are_problems() {
    assert_eq!(problems("a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}").len(), 1);
    assert_eq!(problems("a.rs", "fn f() { unsafe { g() } }").len(), 1);
    assert_eq!(problems("a.rs", "#![forbid(unsafe_code)]"), Vec::<String>::new());
}

#[test]
fn a_test_that_sleeps_must_say_why() {
    let sleeping = "fn f() {\n    std::thread::sleep(d);\n}";
    assert_eq!(problems("crates/x/tests/a.rs", sleeping).len(), 1);
    assert_eq!(problems("crates/x/src/a/tests.rs", "use tokio::time::{Duration, sleep};").len(), 1);
    assert_eq!(problems("crates/x/src/a.rs", sleeping), Vec::<String>::new());
    let said = "fn f() {\n    // tidy: sleeps because the tool under test takes time\n    std::thread::sleep(d);\n}";
    assert_eq!(problems("crates/x/tests/a.rs", said), Vec::<String>::new());
    let unsaid = said.replace("the tool under test takes time", "");
    assert_eq!(problems("crates/x/tests/a.rs", &unsaid).len(), 1);
}

#[test]
fn sleeping_on_a_paused_clock_takes_no_time() {
    let paused = "#[tokio::test(start_paused = true)]\nasync fn f() { tokio::time::sleep(d).await; }";
    assert_eq!(problems("crates/x/tests/a.rs", paused), Vec::<String>::new());
    assert_eq!(problems("crates/x/tests/a.rs", &paused.replace("tokio::time", "std::thread")).len(), 1);
}
