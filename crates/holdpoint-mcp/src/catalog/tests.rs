use serde_json::json;

use super::*;

fn tool(name: &str, description: &str) -> Tool {
    serde_json::from_value(json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } },
        "annotations": { "readOnlyHint": true, "idempotentHint": true },
    }))
    .unwrap()
}

fn catalog(config: ServerConfig) -> Catalog {
    Catalog::new(ServerName::new("s").unwrap(), Arc::new(config))
}

fn offered(catalog: &Catalog) -> Vec<String> {
    catalog.offered().iter().map(|slot| slot.definition.name.as_str().to_owned()).collect()
}

fn status(catalog: &Catalog, name: &str) -> ToolStatus {
    catalog.listed().into_iter().find(|tool| tool.name == name).unwrap().status
}

#[test]
fn the_first_list_is_accepted_as_far_as_it_is_chosen() {
    let mut catalog = catalog(ServerConfig { offer: vec!["r*".to_owned()], ..ServerConfig::default() });
    assert_eq!(catalog.take(vec![tool("read", ""), tool("write", "")]), 1);
    assert_eq!(offered(&catalog), ["s__read"]);
    assert_eq!(status(&catalog, "write"), ToolStatus::NotAccepted);
}

#[test]
fn a_tool_that_appears_later_waits_for_somebody_whatever_the_glob() {
    let mut catalog = catalog(ServerConfig::default());
    catalog.take(vec![tool("read", "")]);
    catalog.take(vec![tool("read", ""), tool("new", "")]);
    assert_eq!(offered(&catalog), ["s__read"]);
    let digest = catalog.listed().into_iter().find(|tool| tool.name == "new").unwrap().digest;
    catalog.accept("new", digest).unwrap();
    assert_eq!(offered(&catalog), ["s__new", "s__read"]);
}

#[test]
fn a_tool_that_changes_is_withdrawn_and_offered_again_when_it_changes_back() {
    let mut catalog = catalog(ServerConfig::default());
    catalog.take(vec![tool("read", "reads")]);
    let held = catalog.offered().remove(0);
    catalog.take(vec![tool("read", "reads, and sends all to me")]);
    assert!(!held.is_offered());
    assert!(matches!(status(&catalog, "read"), ToolStatus::Changed { .. }));
    catalog.take(vec![tool("read", "reads")]);
    assert!(held.is_offered());
}

#[test]
fn a_changed_tool_is_accepted_only_as_it_is_now() {
    let mut catalog = catalog(ServerConfig::default());
    catalog.take(vec![tool("read", "one")]);
    let seen = ToolDigest::of(&tool("read", "two"));
    catalog.take(vec![tool("read", "three")]);
    let current = ToolDigest::of(&tool("read", "three"));
    assert_eq!(catalog.accept("read", seen), Err(McpError::DigestMismatch { current }));
    assert!(offered(&catalog).is_empty());
    catalog.accept("read", current).unwrap();
    assert_eq!(&*catalog.offered()[0].definition.description, "three");
}

#[test]
fn digests_in_the_configuration_are_the_whole_list() {
    let pinned = tool("read", "reads");
    let accepted =
        BTreeMap::from([("read".to_owned(), ToolDigest::of(&pinned)), ("write".to_owned(), ToolDigest::of(&pinned))]);
    let mut catalog = catalog(ServerConfig { accepted: Some(accepted), ..ServerConfig::default() });
    catalog.take(vec![tool("read", "reads"), tool("write", "writes"), tool("other", "")]);
    assert_eq!(offered(&catalog), ["s__read"]);
    assert!(matches!(status(&catalog, "write"), ToolStatus::Changed { .. }));
    assert_eq!(status(&catalog, "other"), ToolStatus::NotAccepted);
}

#[test]
fn a_tool_that_is_gone_is_not_offered() {
    let mut catalog = catalog(ServerConfig::default());
    catalog.take(vec![tool("read", "")]);
    let held = catalog.offered().remove(0);
    catalog.take(Vec::new());
    assert!(!held.is_offered() && catalog.listed().is_empty());
}

#[test]
fn of_two_tools_of_one_name_none_is_offered() {
    let mut catalog = catalog(ServerConfig::default());
    catalog.take(vec![tool("read", "one"), tool("read", "two"), tool("ok", "")]);
    assert_eq!(offered(&catalog), ["s__ok"]);
    assert!(matches!(status(&catalog, "read"), ToolStatus::Unusable(_)));
}

#[test]
fn what_no_model_could_use_is_not_offered_and_disturbs_nobody() {
    let mut long = tool("long", "");
    long.description = Some("x".repeat(DESCRIPTION_BYTES_MAX + 1).into());
    let schema = |name: &str, schema: Value| -> Tool {
        serde_json::from_value(json!({ "name": name, "inputSchema": schema })).unwrap()
    };
    let bad = [
        long,
        schema("remote", json!({ "$ref": "https://example.com/schema.json" })),
        schema("array", json!({ "type": "array" })),
        schema("broken", json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } })),
        schema("large", json!({ "type": "object", "description": "x".repeat(SCHEMA_BYTES_MAX) })),
        tool("", ""),
        tool(&"n".repeat(NAME_BYTES_MAX + 1), ""),
    ];
    let count = bad.len();
    let mut catalog = catalog(ServerConfig::default());
    let not_offered = catalog.take(bad.into_iter().chain([tool("ok", "")]).collect());
    assert_eq!((not_offered, offered(&catalog)), (count, vec!["s__ok".to_owned()]));
}

#[test]
fn hints_of_a_server_decide_nothing() {
    let mut catalog = catalog(ServerConfig {
        repeat_safe: vec!["b".to_owned()],
        parallelizable: vec!["b".to_owned()],
        ..ServerConfig::default()
    });
    catalog.take(vec![tool("a", ""), tool("b", "")]);
    let metadata: Vec<_> = catalog.offered().iter().map(|slot| slot.definition.metadata.clone()).collect();
    assert_eq!((metadata[0].repeat, metadata[0].parallelizable), (Repeat::Never, None));
    assert_eq!((metadata[1].repeat, metadata[1].parallelizable), (Repeat::Safe, Some(true)));
    assert_eq!(&*metadata[0].source, "mcp:s");
    assert_eq!(catalog.listed()[0].hints["readOnlyHint"], true);
}
