use super::check;
use crate::tidy::{Tree, messages};

fn problems(path: &str, text: &str) -> Vec<String> {
    messages(&check(&Tree::sample(&[(path, text)])))
}

fn manifest(name: &str, library: &str) -> Vec<String> {
    let text = format!("[package]\nname = \"{name}\"\n[dependencies]\n{library} = \"1\"\n");
    problems("crates/x/Cargo.toml", &text)
}

#[test]
fn the_core_has_no_dependencies() {
    assert_eq!(manifest("holdpoint-core", "serde").len(), 1);
    assert_eq!(manifest("holdpoint-core", "rand").len(), 1);
    assert_eq!(manifest("holdpoint-codec", "serde"), Vec::<String>::new());
}

#[test]
fn libraries_stay_in_their_crates() {
    for (name, library) in [
        ("holdpoint-codec", "tokio"),
        ("holdpoint", "sqlx"),
        ("holdpoint-api", "axum"),
        ("holdpoint-server", "clap"),
        ("holdpoint-tools", "anyhow"),
    ] {
        assert_eq!(manifest(name, library).len(), 1, "{library} in {name}");
    }
    for (name, library) in [("holdpoint-sim", "clap"), ("holdpoint-cli", "anyhow"), ("holdpoint-tools", "tokio")] {
        assert_eq!(manifest(name, library), Vec::<String>::new());
    }
}

#[test]
fn the_core_reads_no_clock_and_does_no_input_or_output() {
    let core = "crates/holdpoint-core/src/run.rs";
    for bad in [
        "use std::time::Instant;",
        "use std::time::{Duration, SystemTime};",
        "use std::{fs, fmt};",
        "fn f() { std::thread::yield_now(); }",
        "use std::time;",
        "use std::time::*;",
        "async fn f() {}",
    ] {
        assert_eq!(problems(core, bad).len(), 1, "{bad}");
    }
    let good = "use std::{fmt, sync::Arc, time::Duration}; /// Reads no std::fs.\nfn f() {}";
    assert_eq!(problems(core, good), Vec::<String>::new());
}

#[test]
fn only_the_command_line_prints() {
    let text = "fn f() { println!(\"x\"); }";
    assert_eq!(
        problems("crates/holdpoint-tools/src/lib.rs", text),
        ["crates/holdpoint-tools/src/lib.rs:1: `println!` outside the command line"]
    );
    for allowed in ["crates/holdpoint-cli/src/main.rs", "crates/holdpoint/examples/chat.rs", "xtask/src/main.rs"] {
        assert_eq!(problems(allowed, text), Vec::<String>::new());
    }
}
