//! A policy that is tried beside one that holds.

use std::path::PathBuf;
use std::sync::Arc;

use holdpoint_codec::ToolDefinition;
use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{Decision, RunId, ToolName, Turn};
use holdpoint_policy::{
    AuthorizeRequest, Decide, Guarded, Judged, Mode, Policy, Rules, RulesFile, RunFacts, TIMEOUT_DEFAULT,
};
use serde_json::json;

const HOLDS: &str = "[[rule]]\ntool = \"pay\"\ndecide = \"allow\"\nname = \"old\"";
const TRIED: &str = "mode = \"log_only\"\nbeside = \"holds.toml\"\n[[rule]]\ntool = \"pay\"\ndecide = \"confirm\"\n\
                     name = \"new\"\n[[rule]]\ntool = \"*\"\nhide = true";

/// A folder with these files, removed when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("holdpoint-modes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for (name, text) in files {
            std::fs::write(path.join(name), text).unwrap();
        }
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn judge(policy: RulesFile, text: &str) -> Judged {
    let (tool, context) = (ToolName::new("pay"), Context::new());
    let arguments = arguments_for("pay", &parse_arguments(Some(text)).unwrap());
    let run = RunFacts::new(RunId::new("r"), Turn(1));
    let request = AuthorizeRequest { tool: &tool, arguments: &arguments, context: &context, run: &run };
    Guarded::new(Some(Arc::new(policy)), TIMEOUT_DEFAULT).judge(&request).await
}

#[tokio::test]
async fn the_policy_beside_holds_and_what_the_other_would_decide_comes_along() {
    let folder = Folder::new("holds", &[("holds.toml", HOLDS), ("tried.toml", TRIED)]);
    let policy = RulesFile::load(folder.path("tried.toml")).unwrap();
    assert_eq!((policy.mode(), policy.mode().as_str()), (Mode::LogOnly, "log_only"));
    assert_eq!(Policy::version(&policy).as_ref(), Some(policy.enforced().version()));
    let tried = policy.written().version().clone();
    let tools = vec![Arc::new(ToolDefinition::new("other", "", json!({})))];
    assert_eq!(policy.filter(tools, &Context::new()).await.unwrap().len(), 1, "it hides nothing either");
    let judged = judge(policy, "{}").await;
    assert_eq!((Decide::of(&judged.decision), judged.fault), (Decide::Allow, None));
    assert_eq!(judged.decision.ground().rule.as_deref(), Some("old"));
    let shadow = judged.shadow.unwrap();
    assert_eq!(shadow.version, Some(tried));
    assert_eq!(shadow.decision.unwrap().ground().rule.as_deref(), Some("new"));
}

#[tokio::test]
async fn a_tried_policy_that_cannot_decide_changes_nothing() {
    let tried = TRIED.replace("name = \"new\"", "history = { calls = { gt = 1 } }");
    let folder = Folder::new("fails", &[("holds.toml", HOLDS), ("tried.toml", &tried)]);
    let judged = judge(RulesFile::load(folder.path("tried.toml")).unwrap(), "{}").await;
    assert!(matches!(judged.decision, Decision::Allow(_)) && judged.fault.is_none());
    assert_eq!(judged.shadow.unwrap().decision, None);
}

#[tokio::test]
async fn a_file_that_is_enforced_has_no_shadow() {
    let folder = Folder::new("alone", &[("holds.toml", HOLDS)]);
    let policy = RulesFile::load(folder.path("holds.toml")).unwrap();
    assert_eq!((policy.mode(), policy.written().len(), policy.enforced().len()), (Mode::Enforce, 1, 1));
    assert_eq!(judge(policy, "{}").await.shadow, None);
}

#[test]
fn a_policy_that_enforces_nothing_is_never_taken_for_one_that_does() {
    let folder = Folder::new(
        "wrong",
        &[
            ("holds.toml", HOLDS),
            ("tried.toml", TRIED),
            ("itself.toml", "mode = \"log_only\"\nbeside = \"itself.toml\""),
            ("chain.toml", "mode = \"log_only\"\nbeside = \"tried.toml\""),
            ("lost.toml", "mode = \"log_only\"\nbeside = \"nowhere.toml\""),
        ],
    );
    for (file, end) in [
        ("itself.toml", "itself.toml:1:8: `mode` is `log_only`: the policy enforces nothing"),
        ("chain.toml", "tried.toml:1:8: `mode` is `log_only`: the policy enforces nothing"),
        ("lost.toml", "nowhere.toml: the file cannot be read: entity not found"),
    ] {
        let error = RulesFile::load(folder.path(file)).unwrap_err();
        assert!(error.line(&error.problems()[0]).ends_with(end), "{error}");
    }
    let error = Rules::load(folder.path("tried.toml")).unwrap_err();
    assert!(
        error.line(&error.problems()[0]).ends_with("tried.toml:1:8: `mode` is `log_only`: the policy enforces nothing"),
        "{error}"
    );
}

#[test]
fn modes_are_checked_with_their_line() {
    for (text, message, hint) in [
        (
            "\nmode = \"log_only\"",
            "p:2:8: `mode` is `log_only`, which enforces nothing by itself",
            "name the policy that is enforced meanwhile, as in `beside = \"policy.toml\"`",
        ),
        ("\nbeside = \"x\"", "p:2:10: `beside` is for the mode `log_only`", "remove it, or set `mode = \"log_only\"`"),
        (
            "mode = \"enforce\"\nbeside = \"x\"",
            "p:2:10: `beside` is for the mode `log_only`",
            "remove it, or set `mode = \"log_only\"`",
        ),
        ("mode = \"other\"", "p:1:8: `mode` cannot be `other`", "known are `enforce`, `log_only`"),
        (
            "mode = \"log_only\"\nbeside = \"x\"",
            "p:1:8: `mode` is `log_only`: the policy enforces nothing",
            "load it as a `RulesFile`, or set `mode = \"enforce\"`",
        ),
    ] {
        let error = Rules::parse(text, "p").unwrap_err();
        assert_eq!(error.to_string(), format!("{message}\nhint: {hint}"));
    }
}
