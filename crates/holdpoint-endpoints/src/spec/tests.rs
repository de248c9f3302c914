//! Tables that are none are refused by key, with the nearest one.

use holdpoint_core::Repeat;
use serde_json::{Value, json};

use super::*;
use crate::HttpToolSpec;

fn read(table: Value) -> Result<ToolSpec, String> {
    serde_json::from_value(table).map_err(|error| error.to_string())
}

fn problem(table: Value) -> String {
    let surroundings =
        Surroundings::default().with_environment(|name| (name == "PATH").then(|| "/usr/bin:/bin".to_owned()));
    match read(table).unwrap_or_else(|error| panic!("{error}")).build_in("t", &surroundings) {
        Ok(_) => "no problem".to_owned(),
        Err(error) => {
            assert_eq!(error.code().as_str(), "invalid_config");
            error.to_string()
        }
    }
}

#[test]
fn unknown_keys_name_the_nearest() {
    for (table, wanted) in [
        (json!({ "kind": "http", "urll": "" }), "unknown key `urll`; hint: did you mean `url`?"),
        (
            json!({ "kind": "http", "alow_private": true }),
            "unknown key `alow_private`; hint: did you mean `allow_private`?",
        ),
        (json!({ "kind": "command", "comand": [] }), "unknown key `comand`; hint: did you mean `command`?"),
        (json!({ "kind": "worker", "timeout": 1 }), "`timeout`"),
        (json!({ "kind": "worker", "url": "" }), "`url` is not a key of tools of kind `worker`"),
        (json!({ "kind": "http", "command": [] }), "`command` is not a key of tools of kind `http`"),
        (json!({ "kind": "htpp" }), "unknown kind `htpp`; hint: did you mean `http`?"),
        (json!({ "kind": "grpc-service" }), "unknown kind `grpc-service`; hint: known are `http`, `command`, `worker`"),
        (json!({ "url": "" }), "missing field `kind`"),
        (json!({ "kind": 3 }), "`kind` must be a text"),
        (
            json!({ "kind": "http", "response": { "pionter": "" } }),
            "unknown key `pionter`; hint: did you mean `pointer`?",
        ),
        (json!({ "kind": "http", "headers": { "A": { "evn": "" } } }), "unknown key `evn`; hint: did you mean `env`?"),
        (json!({ "kind": "http", "method": "BREW" }), "unknown variant `BREW`"),
        (json!({ "kind": "http", "repeat": "always" }), "unknown variant `always`"),
        (json!({ "kind": "http", "timeout_ms": "1s" }), "invalid type"),
    ] {
        let error = read(table).expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
    let error = serde_json::from_value::<HttpToolSpec>(json!({ "urll": "" })).expect_err("a misspelt key").to_string();
    assert_eq!(error, "unknown key `urll`; hint: did you mean `url`?");
}

#[test]
fn impossible_values_are_refused_by_key() {
    let http = |more: Value| {
        let mut table = json!({ "kind": "http", "url": "https://a.example/" });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        table
    };
    for (table, wanted) in [
        (json!({ "kind": "http" }), "tool `t`: `url` is missing"),
        (http(json!({ "timeout_ms": 0 })), "tool `t`: `timeout_ms` is 0, and must be between 1 and 86400000"),
        (http(json!({ "timeout_ms": -5 })), "tool `t`: `timeout_ms` is -5, and must be between 1 and 86400000"),
        (http(json!({ "response_bytes_max": 1_i64 << 40 })), "`response_bytes_max` is 1099511627776"),
        (http(json!({ "redirects_max": 11 })), "`redirects_max` is 11, and must not be above 10"),
        (http(json!({ "response": { "pointer": "a" } })), "`response.pointer` must begin with `/`"),
        (
            http(json!({ "response": { "pointer": "/a", "form": "text" } })),
            "`response.pointer` has no meaning for a text",
        ),
        (http(json!({ "query": ["x"] })), "`query` names the argument `x`, which `parameters` does not have"),
        (http(json!({ "parameters": { "type": "string" } })), "`parameters` cannot be used: "),
        (http(json!({ "parameters": "no/such.json" })), "`parameters` is `no/such.json`, and cannot be read"),
        (http(json!({ "headers": { "Host": "b" } })), "`headers` has `host`, which is set by Holdpoint"),
        (http(json!({ "headers": { "a b": "c" } })), "`headers` has the bad name `a b`"),
        (http(json!({ "headers": { "A": "b\nc" } })), "`headers` has a value for `a` that no header can have"),
        (http(json!({ "headers": { "Authorization": "Bearer x" } })), "secrets come from variables or files"),
        (
            http(json!({ "headers": { "A": { "env": "NOT_SET" } } })),
            "has `a`, which needs the variable `NOT_SET`, and it is not set",
        ),
        (http(json!({ "headers": { "A": {} } })), "has `a`, which must have either `env` or `file`"),
        (
            http(json!({ "headers": { "A": { "env": "B", "file": "c" } } })),
            "has `a`, which must have either `env` or `file`",
        ),
        (
            http(json!({ "headers": { "A": { "file": "no/such" } } })),
            "has `a`, which needs the file `no/such`, and it cannot be read",
        ),
        (json!({ "kind": "command" }), "`command` is missing"),
        (json!({ "kind": "command", "command": ["no-such-program-here"] }), "names the program `no-such-program-here`"),
        (
            json!({ "kind": "command", "command": ["{program}"] }),
            "must begin with a program, which no argument can change",
        ),
        (json!({ "kind": "command", "command": ["true", "{x}"] }), "`command` names the argument `x`"),
        (json!({ "kind": "command", "command": ["true"], "folder": "no/such" }), "`folder` is `no/such`"),
        (json!({ "kind": "command", "command": ["true"], "success_codes": [] }), "`success_codes` must have"),
        (
            json!({ "kind": "command", "command": ["true"], "messages": { "x": "" } }),
            "`messages` has a key that is not",
        ),
        (json!({ "kind": "command", "command": ["true"], "set": { "A=B": "" } }), "`set` has a name that no variable"),
        (json!({ "kind": "command", "command": ["true"], "environment": [""] }), "`environment` has a name that no"),
        (json!({ "kind": "command", "command": ["true"], "output_bytes_max": 0 }), "`output_bytes_max` is 0"),
        (json!({ "kind": "worker", "timeout_ms": 0 }), "`timeout_ms` is 0"),
    ] {
        let said = problem(table);
        assert!(said.contains(wanted), "{said}\nwanted: {wanted}");
    }
}

#[test]
fn a_misspelt_argument_names_the_nearest() {
    let table = json!({
        "kind": "http", "url": "https://a.example/{ordr}",
        "parameters": { "type": "object", "properties": { "order": {} } },
    });
    assert_eq!(
        problem(table),
        "tool `t`: `url` names the argument `ordr`, which `parameters` does not have; hint: did you mean `order`?"
    );
}

#[test]
fn a_secret_never_is_in_a_message() {
    let surroundings = Surroundings::default().with_environment(|_| Some("s3cret\u{7f}\n\nx".to_owned()));
    let spec = read(json!({ "kind": "http", "url": "https://a.example/", "headers": { "A": { "env": "B" } } }));
    let error = spec.expect("a table").build_in("t", &surroundings).err().expect("a bad value").to_string();
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn metadata_comes_from_the_table() {
    for (kind, more) in [("http", json!({ "url": "https://a.example/" })), ("worker", json!({}))] {
        let mut table = json!({
            "kind": kind, "description": "does it", "repeat": "safe", "parallelizable": true, "timeout_ms": 1500,
        });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        let tool = read(table).expect("a table").build("t").expect("a tool");
        let definition = tool.definition();
        assert_eq!((definition.name.as_str(), &*definition.description), ("t", "does it"));
        let metadata = &definition.metadata;
        assert_eq!((&*metadata.source, metadata.repeat, metadata.parallelizable), (kind, Repeat::Safe, Some(true)));
        assert_eq!(metadata.timeout, Some(std::time::Duration::from_millis(1500)));
    }
}

#[tokio::test]
async fn a_worker_tool_does_nothing_here() {
    let tool = read(json!({ "kind": "worker" })).expect("a table").build("t").expect("a tool");
    let result = tool.call(crate::testing::call("t", &json!({}))).await.expect("a result");
    assert!(result.is_error());
    assert_eq!(result.text(), "This tool is done by workers only, and nothing was done here.");
}

#[test]
fn every_list_and_file_of_a_table_has_a_limit() {
    let named = |count: usize| (0..count).map(|number| format!("N{number}")).collect::<Vec<_>>();
    let headers = |count: usize| named(count).into_iter().map(|name| (name, json!("v"))).collect::<Value>();
    let http = |headers: Value| problem(json!({ "kind": "http", "url": "https://a.example/", "headers": headers }));
    assert_eq!(http(headers(32)), "no problem");
    assert_eq!(http(headers(33)), "tool `t`: `headers` are more than 32");
    assert_eq!(http(json!({ "A": "v".repeat(8 * 1024) })), "no problem");
    let long = http(json!({ "A": "v".repeat(8 * 1024 + 1) }));
    assert_eq!(long, "tool `t`: `headers` has a value for `a` that no header can have");
    assert!(
        problem(json!({ "kind": "http", "url": format!("https://a.example/{}", "x".repeat(8192)) })).contains("8192")
    );

    let command = |more: Value| {
        let mut table = json!({ "kind": "command", "command": ["true"] });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        problem(table)
    };
    assert_eq!(command(json!({ "environment": named(64) })), "no problem");
    assert_eq!(command(json!({ "environment": named(65) })), "tool `t`: `environment` has more than 64 variables");
    let codes: Vec<i32> = (0..65).collect();
    assert!(command(json!({ "success_codes": codes })).contains("between 1 and 64"));
    let messages: Value = codes.iter().map(|code| (code.to_string(), json!("text"))).collect();
    assert_eq!(command(json!({ "messages": messages })), "tool `t`: `messages` has more than 64 codes");
}

#[test]
fn a_schema_above_the_limit_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.json"), " ".repeat(1024 * 1024 + 1)).expect("a file");
    let surroundings = Surroundings::default().with_folder(folder.path());
    let spec = read(json!({ "kind": "worker", "parameters": "s.json" })).expect("a table");
    let error = spec.build_in("t", &surroundings).err().expect("too large").to_string();
    assert_eq!(error, "tool `t`: `parameters` is `s.json`, and is not a file of at most 1048576 bytes");
    std::fs::write(folder.path().join("s.json"), r#"{"type": "object"}"#).expect("a file");
    assert!(spec.build_in("t", &surroundings).is_ok());
}
