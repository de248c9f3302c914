//! Tables that are none are refused by key, with the nearest one.

use holdpoint_core::Repeat;
use serde_json::{Value, json};

use super::*;

fn read(table: Value) -> Result<ToolSpec, String> {
    ToolSpec::from_json(table).map_err(|error| error.to_string())
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
        (json!({ "kind": "http", "urll": "" }), "`urll` is an unknown key\nhint: did you mean `url`?"),
        (
            json!({ "kind": "http", "alow_private": true }),
            "`alow_private` is an unknown key\nhint: did you mean `allow_private`?",
        ),
        (json!({ "kind": "command", "comand": [] }), "`comand` is an unknown key\nhint: did you mean `command`?"),
        (json!({ "kind": "worker", "timeout": 1 }), "`timeout` is an unknown key\nhint: did you mean `timeout_ms`?"),
        (json!({ "kind": "worker", "url": "" }), "`url` is an unknown key\nhint: known are `kind`, "),
        (json!({ "kind": "http", "command": [] }), "`command` is an unknown key"),
        (json!({ "kind": "htpp" }), "`kind` cannot be `htpp`\nhint: did you mean `http`?"),
        (
            json!({ "kind": "grpc-service" }),
            "`kind` cannot be `grpc-service`\nhint: known are `http`, `command`, `worker`",
        ),
        (json!({ "kind": "htpp", "urll": "" }), "`urll` is an unknown key\nhint: did you mean `url`?"),
        (json!({ "url": "" }), "needs `kind`\nhint: it is `http`, `command` or `worker`"),
        (json!({ "knd": "http" }), "`knd` is an unknown key\nhint: did you mean `kind`?"),
        (json!({ "kind": 3 }), "`kind` must be a string, but is a number"),
        (json!(3), "must be a table, but is a number"),
        (
            json!({ "kind": "http", "response": { "pionter": "" } }),
            "`response.pionter` is an unknown key\nhint: did you mean `pointer`?",
        ),
        (
            json!({ "kind": "http", "headers": { "A": { "evn": "" } } }),
            "`headers.A.evn` is an unknown key\nhint: did you mean `env`?",
        ),
        (json!({ "kind": "http", "headers": { "A": { "env": "s3cret t0ken" } } }), "`headers.A.env` is not the name"),
        (json!({ "kind": "http", "method": "BREW" }), "`method` cannot be `BREW`"),
        (json!({ "kind": "http", "repeat": "always" }), "`repeat` cannot be `always`"),
        (json!({ "kind": "http", "timeout_ms": "1s" }), "`timeout_ms` must be a whole number, but is a string"),
        (json!({ "kind": "http", "timeout_ms": -5 }), "`timeout_ms` is -5, and must not be negative"),
    ] {
        let error = read(table).expect_err(wanted);
        assert!(error.starts_with(wanted), "{error}\nwanted: {wanted}");
    }
}

#[test]
fn impossible_values_are_refused_by_key() {
    let http = |more: Value| {
        let mut table = json!({ "kind": "http", "url": "https://a.example/" });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        table
    };
    for (table, wanted) in [
        (json!({ "kind": "http" }), "`t.url` is missing"),
        (http(json!({ "timeout_ms": 0 })), "`t.timeout_ms` is 0, and must be between 1 and 86400000"),
        (http(json!({ "max_response_bytes": 1_i64 << 40 })), "`t.max_response_bytes` is 1099511627776"),
        (http(json!({ "max_redirects": 11 })), "`t.max_redirects` is 11, and must be between 0 and 10"),
        (http(json!({ "response": { "pointer": "a" } })), "`t.response.pointer` must begin with `/`"),
        (
            http(json!({ "response": { "pointer": "/a", "form": "text" } })),
            "`t.response.pointer` has no meaning for a text",
        ),
        (http(json!({ "query": ["x"] })), "`t.query` names the argument `x`, which `parameters` does not have"),
        (http(json!({ "parameters": { "type": "string" } })), "`t.parameters` cannot be used: "),
        (http(json!({ "parameters": "no/such.json" })), "`t.parameters` is `no/such.json`, which cannot be read"),
        (http(json!({ "headers": { "Host": "b" } })), "`t.headers.Host` is set by Holdpoint"),
        (http(json!({ "headers": { "a b": "c" } })), "`t.headers.a b` cannot be the name of a header"),
        (http(json!({ "headers": { "A": "b\nc" } })), "`t.headers.A` has a value that no header can have"),
        (http(json!({ "headers": { "Authorization": "Bearer x" } })), "secrets come from variables or files"),
        (
            http(json!({ "headers": { "A": { "env": "NOT_SET" } } })),
            "`t.headers.A` has no value: the variable `NOT_SET` is not set",
        ),
        (http(json!({ "headers": { "A": {} } })), "`t.headers.A` needs `env` or `file`"),
        (
            http(json!({ "headers": { "A": { "env": "B", "file": "c" } } })),
            "`t.headers.A.file` stands beside `env`\nhint: keep one of them",
        ),
        (
            http(json!({ "headers": { "A": { "file": "no/such" } } })),
            "`t.headers.A` has no value: the file `./no/such` cannot be read: entity not found",
        ),
        (json!({ "kind": "command" }), "`t.command` is missing"),
        (json!({ "kind": "command", "command": ["no-such-program-here"] }), "names the program `no-such-program-here`"),
        (
            json!({ "kind": "command", "command": ["{program}"] }),
            "must begin with a program, which no argument can change",
        ),
        (json!({ "kind": "command", "command": ["true", "{x}"] }), "`t.command` names the argument `x`"),
        (json!({ "kind": "command", "command": ["true"], "folder": "no/such" }), "`t.folder` is `no/such`"),
        (json!({ "kind": "command", "command": ["true"], "success_codes": [] }), "`t.success_codes` must have"),
        (
            json!({ "kind": "command", "command": ["true"], "messages": { "x": "" } }),
            "`t.messages.x` is not an exit code",
        ),
        (
            json!({ "kind": "command", "command": ["true"], "set": { "A=B": "" } }),
            "`t.set` has a name that no variable",
        ),
        (json!({ "kind": "command", "command": ["true"], "environment": [""] }), "`t.environment` has a name that no"),
        (json!({ "kind": "command", "command": ["true"], "max_output_bytes": 0 }), "`t.max_output_bytes` is 0"),
        (json!({ "kind": "worker", "timeout_ms": 0 }), "`t.timeout_ms` is 0"),
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
        "`t.url` names the argument `ordr`, which `parameters` does not have\nhint: did you mean `order`?"
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
    assert_eq!(http(headers(33)), "`t.headers` has more than 32 headers");
    assert_eq!(http(json!({ "A": "v".repeat(8 * 1024) })), "no problem");
    let long = http(json!({ "A": "v".repeat(8 * 1024 + 1) }));
    assert_eq!(long, "`t.headers.A` has a value that no header can have");
    assert!(
        problem(json!({ "kind": "http", "url": format!("https://a.example/{}", "x".repeat(8192)) })).contains("8192")
    );

    let command = |more: Value| {
        let mut table = json!({ "kind": "command", "command": ["true"] });
        table.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
        problem(table)
    };
    assert_eq!(command(json!({ "environment": named(64) })), "no problem");
    assert_eq!(command(json!({ "environment": named(65) })), "`t.environment` has more than 64 variables");
    let codes: Vec<i32> = (0..65).collect();
    assert!(command(json!({ "success_codes": codes })).contains("between 1 and 64"));
    let messages: Value = codes.iter().map(|code| (code.to_string(), json!("text"))).collect();
    assert_eq!(command(json!({ "messages": messages })), "`t.messages` has more than 64 codes");
}

#[test]
fn a_schema_above_the_limit_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("s.json"), " ".repeat(1024 * 1024 + 1)).expect("a file");
    let surroundings = Surroundings::default().with_folder(folder.path());
    let spec = read(json!({ "kind": "worker", "parameters": "s.json" })).expect("a table");
    let error = spec.build_in("t", &surroundings).err().expect("too large").to_string();
    assert_eq!(error, "`t.parameters` is `s.json`, which has more than 1048576 bytes");
    std::fs::write(folder.path().join("s.json"), r#"{"type": "object"}"#).expect("a file");
    assert!(spec.build_in("t", &surroundings).is_ok());
}
