//! However a call is spelt, the rule that decides is the rule for what is executed.

use std::fmt::Write as _;
use std::sync::LazyLock;

use holdpoint_codec::{Context, arguments_for, parse_arguments};
use holdpoint_core::{RequestedName, RunId, ToolName, Turn};
use holdpoint_policy::{AuthorizeRequest, Rules, RunFacts, Show};
use holdpoint_tools::{Registry, ToolCall, raw_tool};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Each rule has a name, so that it can be told which one decided.
const RULES: &str = r#"
[[rule]]
name = "exact"
tool = "fs_write"
when = { "/amount" = { eq = 1 } }
decide = "deny"
[[rule]]
name = "large"
tool = "fs_*"
when = { "/amount" = { gt = 9007199254740992 } }
decide = "confirm"
[[rule]]
name = "range"
tool = "fs_*"
when = { "/amount" = { gte = 0.5, lte = 100 } }
decide = "confirm"
[[rule]]
name = "path"
tool = "fs_write"
when = { "/to/path" = { path_under = "/srv" } }
decide = "allow"
[[rule]]
name = "word"
tool = "{fs_write,fs_read}"
when = { "/to/tags" = { any = { starts_with = "admin" } } }
decide = "deny"
[[rule]]
name = "absent"
tool = "fs_read"
when = { "/amount" = { present = false } }
decide = "allow"
[[rule]]
name = "rest"
tool = "fs_write"
decide = "deny"
[[rule]]
name = "wide"
tool = "*"
decide = "confirm"
"#;

const TOOLS: [&str; 4] = ["fs_write", "fs_read", "FS_WRITE", "fs.list"];

fn rules() -> &'static Rules {
    static PARSED: LazyLock<Rules> = LazyLock::new(|| Rules::parse(RULES, "policy.toml").unwrap());
    &PARSED
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    for name in TOOLS {
        registry.register(raw_tool(name, "", json!({}), async |_: ToolCall| "ok".to_owned())).unwrap();
    }
    registry
}

/// What the driver does: the name is resolved, the arguments become canonical, and only then a rule is asked for. What
/// would run, and the rule.
fn decided(name: &str, raw: &str) -> Option<(String, String, Option<String>)> {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(registry);
    let tool = REGISTRY.resolve(&RequestedName::new(name))?.name().clone();
    let canonical = parse_arguments(Some(raw)).ok()?;
    let rule = rule_for(&tool, canonical.expose());
    Some((tool.to_string(), canonical.expose().to_owned(), rule))
}

fn rule_for(tool: &ToolName, canonical: &str) -> Option<String> {
    let rules = rules();
    let arguments = arguments_for(tool.as_str(), &parse_arguments(Some(canonical)).unwrap());
    let (context, run) = (Context::new(), RunFacts::new(RunId::new("r"), Turn(1)));
    let request = AuthorizeRequest { tool, arguments: &arguments, context: &context, run: &run };
    rules.explain(&request, Show::Types).rule.map(|rule| rule.name)
}

/// An amount and every way to write it.
fn amounts() -> impl Strategy<Value = (String, Vec<String>)> {
    let small = (-1200_i64..1200).prop_map(|tenths| {
        let (sign, whole, tenth) = (if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
        let plain = if tenth == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{tenth}") };
        let digits = tenths.abs();
        let mut ways = vec![plain.clone(), format!("{sign}{digits}e-1"), format!("{sign}{digits}.0E-1")];
        ways.push(format!("{sign}{whole}.{tenth}00"));
        ways.push(format!("{sign}{whole}.{tenth}e0"));
        ways.push(format!("{sign}{whole}.{tenth}e+00"));
        ways.push(if digits == 0 { "-0".to_owned() } else { format!("{sign}{digits}0e-2") });
        (plain, ways)
    });
    let large = (9_007_199_254_740_990_u64..9_007_199_254_740_996).prop_map(|n| (n.to_string(), vec![n.to_string()]));
    let huge = "[1-9][0-9]{20,30}".prop_map(|digits| (digits.clone(), vec![digits]));
    prop_oneof![4 => small, 1 => large, 1 => huge]
}

/// Texts that rules look for, and texts that look alike.
fn words() -> impl Strategy<Value = String> {
    let known = ["admin", "admin2", "Admin", "\u{430}dmin", "\u{ff41}dmin", "a\u{300}dmin", "adm\u{0131}n", ""];
    let paths = ["/srv/a", "/srv/../etc", "/srv/./a", "/srv", "/SRV/a", "/srv\\..\\etc", "/\u{455}rv/a"];
    prop_oneof![proptest::sample::select(known.to_vec()), proptest::sample::select(paths.to_vec())]
        .prop_map(str::to_owned)
        .boxed()
}

/// How JSON text is written, decided by a list of numbers that is used up again and again.
struct Spelling {
    choices: Vec<u8>,
    at: usize,
}

impl Spelling {
    fn next(&mut self) -> usize {
        self.at += 1;
        usize::from(self.choices[self.at % self.choices.len()])
    }

    fn space(&mut self) -> &'static str {
        ["", " ", "\n\t", "\r\n "][self.next() % 4]
    }

    fn text(&mut self, text: &str) -> String {
        let mut written = String::from("\"");
        for letter in text.chars() {
            if matches!(letter, '"' | '\\') || letter.is_control() || self.next().is_multiple_of(2) {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = if self.at.is_multiple_of(2) {
                        write!(written, "\\u{unit:04x}")
                    } else {
                        write!(written, "\\u{unit:04X}")
                    };
                }
            } else if letter == '/' && self.next().is_multiple_of(2) {
                written.push_str("\\/");
            } else {
                written.push(letter);
            }
        }
        written + "\""
    }

    fn object(&mut self, mut members: Vec<(&str, String)>) -> String {
        if members.len() > 1 {
            let by = self.next() % members.len();
            members.rotate_left(by);
        }
        let mut written = format!("{}{{", self.space());
        for (number, (name, value)) in members.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let (before, name, between) = (self.space(), self.text(name), self.space());
            let _ = write!(written, "{comma}{before}{name}{between}:{value}{}", self.space());
        }
        written + "}" + self.space()
    }
}

/// One call with its meaning.
#[derive(Clone, Debug)]
struct Meant {
    amount: Option<(String, Vec<String>)>,
    path: Option<String>,
    tags: Vec<String>,
}

fn meant() -> impl Strategy<Value = Meant> {
    let parts =
        (proptest::option::of(amounts()), proptest::option::of(words()), proptest::collection::vec(words(), 0..3));
    parts.prop_map(|(amount, path, tags)| Meant { amount, path, tags })
}

impl Meant {
    fn written(&self, spelling: &mut Spelling) -> String {
        let tags: Vec<String> = self.tags.iter().map(|tag| spelling.text(tag)).collect();
        let mut to = vec![("tags", format!("[{}{}]", spelling.space(), tags.join(" ,")))];
        if let Some(path) = &self.path {
            to.push(("path", spelling.text(path)));
        }
        let mut members = vec![("to", spelling.object(to)), ("note", spelling.text("amount"))];
        if let Some((_, ways)) = &self.amount {
            members.push(("amount", ways[spelling.next() % ways.len()].clone()));
        }
        let object = spelling.object(members);
        match spelling.next() % 4 {
            0 => Value::from(object).to_string(),
            1 => format!("```json\n{object}\n```"),
            _ => object,
        }
    }

    /// The plainest reading of the rules for what is meant.
    fn rule(&self, tool: &str) -> &'static str {
        let amount = self.amount.as_ref().map(|(plain, _)| plain.as_str());
        let tenths = amount.and_then(|plain| {
            let (whole, tenth) = plain.split_once('.').unwrap_or((plain, "0"));
            let value = whole.trim_start_matches('-').parse::<u128>().ok()? * 10 + tenth.parse::<u128>().ok()?;
            i128::try_from(value).ok().map(|value| if plain.starts_with('-') { -value } else { value })
        });
        let above = |bound: i128| amount.is_some() && tenths.is_none_or(|tenths| tenths > bound);
        let under = self.path.as_deref().is_some_and(|path| matches!(path, "/srv/a" | "/srv/./a" | "/srv"));
        let admin = self.tags.iter().any(|tag| tag.starts_with("admin"));
        let filed = tool == "fs_write" || tool == "fs_read";
        match tool {
            "fs_write" if tenths == Some(10) => "exact",
            _ if filed && above(90_071_992_547_409_920) => "large",
            _ if filed && tenths.is_some_and(|tenths| (5..=1000).contains(&tenths)) => "range",
            "fs_write" if under => "path",
            _ if filed && admin => "word",
            "fs_read" if amount.is_none() => "absent",
            "fs_write" => "rest",
            _ => "wide",
        }
    }
}

proptest! {
    #[test]
    fn no_spelling_of_the_arguments_changes_the_rule(
        meant in meant(),
        tool in proptest::sample::select(TOOLS.to_vec()),
        choices in proptest::collection::vec(any::<u8>(), 1..40),
        others in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let one = decided(tool, &meant.written(&mut Spelling { choices, at: 0 })).unwrap();
        let other = decided(tool, &meant.written(&mut Spelling { choices: others, at: 0 })).unwrap();
        prop_assert_eq!(&one, &other, "the same call is executed, by the same rule");
        prop_assert_eq!(one.2.as_deref(), Some(meant.rule(tool)));
    }

    #[test]
    fn no_alias_of_a_tool_changes_the_rule(
        meant in meant(),
        name in prop_oneof![
            proptest::sample::select(TOOLS.to_vec()).prop_map(str::to_owned),
            "[fF][sS][._][wW]rite", "fs[._\u{ff3f}\u{2024}]read", "fs_writ(e|\u{435}|e\u{301}|e\u{200b})", " ?fs_write ?",
        ],
        choices in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        if let Some((executed, _, rule)) = decided(&name, &meant.written(&mut Spelling { choices, at: 0 })) {
            prop_assert!(name == executed || name.replace('.', "_") == executed, "{name} runs {executed}");
            prop_assert_eq!(rule.as_deref(), Some(meant.rule(&executed)));
        }
    }

    #[test]
    fn a_name_that_is_there_twice_is_never_decided_about(
        meant in meant(),
        second in proptest::sample::select(vec!["amount", "to", "note"]),
        choices in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut spelling = Spelling { choices, at: 0 };
        let twice = spelling.text(second);
        let first = spelling.text(second);
        let raw = format!("{{{first}:1,\"x\":{},{twice}:2}}", meant.tags.len());
        prop_assert_eq!(decided("fs_write", &raw), None);
        prop_assert!(rules().decide("fs_write", &raw).is_err());
    }

    #[test]
    fn a_value_in_another_place_is_another_value(meant in meant(), choices in proptest::collection::vec(any::<u8>(), 1..40)) {
        let mut spelling = Spelling { choices, at: 0 };
        let inner = meant.written(&mut Spelling { choices: vec![2], at: 0 });
        let raw = spelling.object(vec![("arguments", inner)]);
        let (_, _, rule) = decided("fs_write", &raw).unwrap();
        prop_assert_eq!(rule.as_deref(), Some("rest"));
    }
}

#[test]
fn numbers_that_a_double_cannot_hold_are_decided_about_as_they_run() {
    for (amount, rule) in [
        ("9007199254740992", "rest"),
        ("9007199254740993", "large"),
        ("0.49999999999999999999999", "range"),
        ("0.4999999999999999", "rest"),
        ("1.0000000000000000000001", "exact"),
        ("1.0000000000000003", "range"),
        ("1e2", "range"),
        ("100.00000000000001", "rest"),
    ] {
        let (_, executed, found) = decided("fs_write", &format!("{{\"amount\":{amount}}}")).unwrap();
        assert_eq!(found.as_deref(), Some(rule), "{amount} runs as {executed}");
    }
}
