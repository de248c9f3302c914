//! What is wrong with a configuration is told with its line, its column and what was probably meant.

#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::path::{Path, PathBuf};

use holdpoint_codec::{RouteSpec, SettingsSpec};
use holdpoint_endpoints::{CommandToolSpec, CommonKeys, HttpToolSpec, Surroundings};
use holdpoint_mcp::ServerConfig;
use holdpoint_tools::hooks::{CacheSpec, CircuitBreakerSpec, ConcurrencySpec, RateLimitSpec, RetrySpec, ScopeSpec};
use proptest::prelude::*;

use super::*;
use crate::assemble::{Kit, local_tools};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read_in(text: &str, folder: &Path) -> Result<Config, ConfigError> {
    Config::read(Document::toml(text, "holdpoint.toml")?.in_folder(folder))
}

fn read(text: &str) -> Result<Config, ConfigError> {
    read_in(text, Path::new(""))
}

/// Reads, and builds everything that needs no network.
fn built(text: &str, folder: &Path) -> Result<(), ConfigError> {
    let config = read_in(text, folder)?;
    let surroundings = Surroundings::default().with_folder(folder);
    for agent in &config.agents {
        let kit = Kit::new(agent, local_tools(agent, &surroundings)?)?;
        kit.check_policy()?;
        agent.model.open(folder).map_err(|error| agent.error(error))?;
    }
    Ok(())
}

const AGENT: &str = "[agents.a]\nmodel = \"ollama:small\"\n";

/// Each a mistake that somebody will make.
const MISTAKES: &[(&str, &str)] = &[
    ("not TOML", "[server\nlisten = 1"),
    ("a key twice", "[server]\nstore = \"sqlite:a\"\nstore = \"sqlite:b\""),
    ("no agent", "[server]\n"),
    ("an unknown table", "[servre]\n"),
    ("an unknown table that is near nothing", "[database]\n"),
    ("a misspelt key of the server", "[server]\nlisen = \"127.0.0.1:1\""),
    ("an address without a port", "[server]\nlisten = \"127.0.0.1\""),
    ("an address that is a number", "[server]\n  listen = 7411"),
    ("a number that is too small", "[server]\nmax_runs = 0"),
    ("a number that is negative", "[server]\nshutdown_ms = -1"),
    ("a number that is too large", "[server]\nworker_concurrency = 1_000"),
    ("a number in quotes", "[server]\nmax_body_bytes = \"4096\""),
    ("a flag that is a text", "[server]\nworker = \"yes\""),
    ("a receiver that is no address", "[server]\notlp_endpoint = \"localhost:4318\""),
    ("a table that is a text", "server = \"here\""),
    ("a list that is a table", "[tokens]\nname = \"a\""),
    ("a token without a name", "[[tokens]]\ntenant = \"acme\"\nroles = [\"read\"]\nsecret_env = \"A\""),
    ("a token without a tenant", "[[tokens]]\nname = \"desk\"\nroles = [\"read\"]\nsecret_env = \"A\""),
    ("a token whose name is empty", "[[tokens]]\nname = \" \"\ntenant = \"acme\""),
    ("a token without roles", "[[tokens]]\nname = \"desk\"\ntenant = \"acme\"\nsecret_env = \"A\""),
    ("a role that is none", "[[tokens]]\nname = \"desk\"\ntenant = \"acme\"\nroles = [\"read\", \"aprove\"]"),
    ("a role that is a number", "[[tokens]]\nname = \"desk\"\ntenant = \"acme\"\nroles = [1]"),
    (
        "an empty approver role",
        "[[tokens]]\nname = \"d\"\ntenant = \"t\"\nroles = [\"read\"]\napproves_as = [\"\"]\nsecret_env = \"A\"",
    ),
    ("a token without a secret", "[[tokens]]\nname = \"desk\"\ntenant = \"acme\"\nroles = [\"read\"]"),
    (
        "a token with two secrets",
        "[[tokens]]\nname = \"d\"\ntenant = \"t\"\nroles = [\"read\"]\nsecret_env = \"A\"\nsecret_file = \"a\"",
    ),
    (
        "a secret in place of its variable",
        "[[tokens]]\nname = \"d\"\ntenant = \"t\"\nroles = [\"read\"]\nsecret_env = \"s3cret-t0ken\"",
    ),
    ("a secret in the file", "[[tokens]]\nname = \"d\"\ntenant = \"t\"\nroles = [\"read\"]\nsecret = \"s3cret-t0ken\""),
    (
        "two tokens of one name",
        "[[tokens]]\nname = \"d\"\ntenant = \"t\"\nroles = [\"read\"]\nsecret_env = \"A\"\n[[tokens]]\nname = \"d\"\ntenant = \"u\"\nroles = [\"read\"]\nsecret_env = \"B\"",
    ),
    ("an agent without a model", "[agents.a]\nsystem_prompt = \"hello\""),
    ("an agent whose name is none", "[agents.\"my agent\"]\nmodel = \"ollama:small\""),
    ("a model without a provider", "[agents.a]\nmodel = \"gpt-5-mini\""),
    ("a provider that nobody knows", "[agents.a]\nmodel = \"opnai:gpt-5-mini\""),
    ("a misspelt key of an agent", "[agents.a]\nmodel = \"ollama:small\"\nsistem_prompt = \"hello\""),
    ("a key of an agent that holds a secret", "[agents.a]\nmodel = \"openai:gpt-5-mini\"\napi_key = \"s3cret-t0ken\""),
    ("a key in place of its variable", "[agents.a]\nmodel = \"openai:gpt-5-mini\"\napi_key_env = \"sk-s3cret-t0ken\""),
    ("a base URL for a script", "[agents.a]\nmodel = \"scripted:model.yaml\"\nbase_url = \"http://127.0.0.1\""),
    ("an executor that is none", "[agents.a]\nmodel = \"ollama:small\"\nexecutor = \"concurent\""),
    ("a word that is none", "[agents.a]\nmodel = \"ollama:small\"\nsiblings = \"wait\""),
    ("a temperature that is none", "[agents.a]\nmodel = \"ollama:small\"\ntemperature = -0.5"),
    ("a limit of nothing", "[agents.a]\nmodel = \"ollama:small\"\nmax_concurrency = 0"),
    ("tokens that are kept free of nothing", "[agents.a]\nmodel = \"ollama:small\"\nreserved_output_tokens = 5"),
    (
        "tokens that are all kept free",
        "[agents.a]\nmodel = \"ollama:small\"\ncontext_window = 5\nreserved_output_tokens = 5",
    ),
    ("two system prompts", "[agents.a]\nmodel = \"ollama:small\"\nsystem_prompt = \"a\"\nsystem_prompt_file = \"b\""),
    ("a system prompt that is not there", "[agents.a]\nmodel = \"ollama:small\"\nsystem_prompt_file = \"no/such.txt\""),
    ("a route without an executor", "[agents.a]\nmodel = \"ollama:small\"\n[[agents.a.routes]]\ntools = \"x_*\""),
    (
        "a route with a misspelt key",
        "[agents.a]\nmodel = \"ollama:small\"\n[[agents.a.routes]]\ntool = \"x_*\"\nexecutor = \"threads\"",
    ),
];

/// The same for what needs the rest of an agent; each follows an agent that is fine.
const MISTAKES_OF_AGENTS: &[(&str, &str)] = &[
    ("a tool without a kind", "[agents.a.tools.t]\nurl = \"https://a.example/\""),
    ("a tool of no kind", "[agents.a.tools.t]\nkind = \"htpp\""),
    ("a misspelt key of a tool", "[agents.a.tools.t]\nkind = \"http\"\nurll = \"https://a.example/\""),
    ("a key of another kind", "[agents.a.tools.t]\nkind = \"worker\"\nurl = \"https://a.example/\""),
    ("a value of another type", "[agents.a.tools.t]\nkind = \"worker\"\ntimeout_ms = \"1s\""),
    ("a time limit of nothing", "[agents.a.tools.t]\nkind = \"worker\"\ndescription = \"does it\"\ntimeout_ms = 0"),
    ("a private address", "[agents.a.tools.t]\nkind = \"http\"\nurl = \"http://127.0.0.1/\""),
    (
        "a secret in a header",
        "[agents.a.tools.t]\nkind = \"http\"\nurl = \"https://a.example/\"\nheaders = { Authorization = \"Bearer s3cret-t0ken\" }",
    ),
    (
        "a variable that is not set",
        "[agents.a.tools.t]\nkind = \"http\"\nurl = \"https://a.example/\"\nheaders = { A = { env = \"HOLDPOINT_NO_SUCH\" } }",
    ),
    ("an argument that is not there", "[agents.a.tools.t]\nkind = \"http\"\nurl = \"https://a.example/{order}\""),
    ("a program that is not there", "[agents.a.tools.t]\nkind = \"command\"\ncommand = [\"no-such-program-here\"]"),
    ("a schema that is not there", "[agents.a.tools.t]\nkind = \"worker\"\nparameters = \"no/such.json\""),
    ("a schema that is none", "[agents.a.tools.t]\nkind = \"worker\"\nparameters = { type = \"string\" }"),
    ("a name that no tool can have", "[agents.a.tools.\"my tool\"]\nkind = \"worker\""),
    ("a server without a way to it", "[agents.a.mcp.files]\noffer = [\"*\"]"),
    ("a server with two ways to it", "[agents.a.mcp.files]\ncommand = [\"a\"]\nurl = \"https://a.example/\""),
    ("a misspelt key of a server", "[agents.a.mcp.files]\ncomand = [\"a\"]"),
    ("a server whose name is none", "[agents.a.mcp.my__files]\ncommand = [\"a\"]"),
    ("a bearer token in the file", "[agents.a.mcp.files]\nurl = \"https://a.example/\"\nbearer = \"s3cret-t0ken\""),
    (
        "a header of a server in the file",
        "[agents.a.mcp.files]\nurl = \"https://a.example/\"\nheaders = { X-Key = \"s3cret-t0ken\" }",
    ),
    ("a misspelt place of a secret", "[agents.a.mcp.files]\nurl = \"https://a.example/\"\nbearer = { evn = \"A\" }"),
    ("a password in a URL", "[agents.a.mcp.files]\nurl = \"https://user:s3cret-t0ken@a.example/\""),
    ("a hook that is none", "[[agents.a.hooks]]\nrate_limt = { per_second = 5 }"),
    ("a hook of nothing", "[[agents.a.hooks]]\n"),
    ("two hooks in one", "[[agents.a.hooks]]\ncache = {}\ninstrument = {}"),
    ("a misspelt setting of a hook", "[[agents.a.hooks]]\nrate_limit = { per_secnd = 5 }"),
    ("a setting of a hook that is missing", "[[agents.a.hooks]]\nrate_limit = { burst = 5 }"),
    ("a setting of a hook that cannot be", "[[agents.a.hooks]]\nretry = { attempts = 0 }"),
    ("a cache for a tool that is not there", "[[agents.a.hooks]]\ncache = { tool = \"t\" }"),
    ("skills that are not there", "skills = [\"no/such\"]"),
    ("a policy that is not there", "policy = \"no/such.toml\""),
    ("a policy with a mistake", "policy = \"bad.toml\""),
    ("a policy about another tool", "policy = \"other.toml\""),
    ("a policy about a context that is not kept", "policy = \"context.toml\"\n[agents.a.tools.t]\nkind = \"worker\""),
];

fn told(name: &str, error: Result<impl Sized, ConfigError>) -> String {
    let error = error.err().unwrap_or_else(|| panic!("`{name}` was accepted"));
    assert!(error.place().is_some(), "`{name}` has no place: {error}");
    format!("{name}\n  {}", crate::failure::Failure::from(&error).to_string().trim_end().replace('\n', "\n  "))
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("bad.toml", "[[rule]]\ntool = \"t\"\ndecid = \"allow\"\n");
    write("other.toml", "[[rule]]\ntool = \"refund\"\ndecide = \"allow\"\n");
    write("context.toml", "[[rule]]\ntool = \"t\"\ncontext = { user_id = { eq = \"7\" } }\ndecide = \"allow\"\n");
    let mut found: Vec<String> = MISTAKES.iter().map(|(name, text)| told(name, read(text))).collect();
    let of_agents = |(name, text): &(&str, &str)| {
        // Keys of the agent come before its tables.
        let told = told(name, built(&format!("{AGENT}{text}\n"), folder.path()));
        told.replace(&folder.path().display().to_string(), "FOLDER")
    };
    found.extend(MISTAKES_OF_AGENTS.iter().map(of_agents));
    let text = found.join("\n\n") + "\n";
    assert!(!text.contains("s3cret"), "a secret is shown:\n{text}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/config_mistakes.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(before, text, "the messages are not what they were; if that is right: UPDATE_GOLDEN=1");
}

#[test]
fn what_is_absent_has_its_usual_value() {
    let config = read(AGENT).unwrap();
    assert_eq!(config.server.listen.to_string(), "127.0.0.1:7411");
    assert_eq!(config.server.store, "sqlite:holdpoint.db");
    assert_eq!((config.server.worker, config.server.worker_concurrency), (true, 8));
    assert!(config.tokens.is_empty());
    assert_eq!(config.agents[0].settings, holdpoint::Settings::default());
}

#[test]
fn paths_begin_at_the_folder_of_the_file() {
    let text = format!("[server]\nsigning_key_file = \"k\"\n{AGENT}policy = \"p.toml\"\nskills = [\"s\"]\n");
    let config = read_in(&text, Path::new("/etc/holdpoint")).unwrap();
    assert_eq!(config.server.store, "sqlite:/etc/holdpoint/holdpoint.db");
    assert_eq!(config.server.signing_key_file, PathBuf::from("/etc/holdpoint/k"));
    assert_eq!(config.agents[0].folder(), Path::new("/etc/holdpoint"));
    let absolute = format!("[server]\nstore = \"sqlite:/srv/runs.db\"\n{AGENT}");
    let config = read_in(&absolute, Path::new("/etc/holdpoint")).unwrap();
    assert_eq!(config.server.store, "sqlite:/srv/runs.db");
}

#[test]
fn a_place_counts_characters_and_not_bytes() {
    let error = read("# ünïcode\n[server]\nstore = \"ü\"\nlisen = \"\"").err().unwrap();
    assert_eq!(error.place().map(|place| (place.line, place.column)), Some((4, 1)));
    let error = read("server = { store = \"üü\", lisen = \"\" }").err().unwrap();
    assert_eq!(error.place().map(|place| (place.line, place.column)), Some((1, 26)));
}

/// The lines of a file that are code in a comment, as blocks that belong together.
fn commented_blocks(text: &str) -> Vec<std::ops::Range<usize>> {
    let is_code = |line: &str| {
        line.strip_prefix("# ").is_some_and(|code| {
            code.starts_with('[')
                || code
                    .split_once(" = ")
                    .is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'))
        })
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks: Vec<std::ops::Range<usize>> = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| is_code(line)) {
        let in_table = blocks.last().is_some_and(|block| block.end == number && lines[block.start].starts_with("# ["));
        match blocks.last_mut() {
            Some(block) if in_table && !line.starts_with("# [") => block.end = number + 1,
            Some(_) | None => blocks.push(number..number + 1),
        }
    }
    blocks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever somebody takes out of the comments of the configuration that `init` writes, it can be read.
    #[test]
    fn whatever_is_uncommented_in_the_first_configuration_can_be_read(chosen in any::<[bool; 32]>()) {
        let (_, text) = crate::init_command::FILES[0];
        // What is in comments about a model is for one of a provider.
        let text = text.replace("scripted:model.yaml", "openai:gpt-5-mini");
        let blocks = commented_blocks(&text);
        prop_assert!(blocks.len() >= 10 && blocks.len() <= chosen.len(), "{} blocks", blocks.len());
        let taken: Vec<usize> = blocks.iter().zip(chosen).filter(|(_, taken)| *taken).flat_map(|(block, _)| block.clone()).collect();
        let line = |(number, line): (usize, &str)| {
            let line = if taken.contains(&number) { line.strip_prefix("# ").unwrap_or(line) } else { line };
            format!("{line}\n")
        };
        let edited: String = text.lines().enumerate().map(line).collect();
        let read = read(&edited);
        prop_assert!(read.is_ok(), "{}\n{edited}", read.err().map(|error| error.to_string()).unwrap_or_default());
    }

    /// No text at all makes the reader panic, and every mistake has a place in it.
    #[test]
    fn nothing_makes_the_reader_panic(text in "(\\[{1,2}(server|tokens|agents\\.a)\\]{1,2}|[a-z_]{1,8} = (\"[a-zü]{0,4}\"|-?[0-9]{1,4}|\\[\\]|\\{\\}|true)|\n){0,12}") {
        if let Err(error) = read(&text) {
            let place = error.place().unwrap();
            prop_assert!(place.line <= text.lines().count() + 1 && place.column >= 1);
        }
    }
}

#[test]
fn the_first_configuration_can_be_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in crate::init_command::FILES {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    built(crate::init_command::FILES[0].1, folder.path()).unwrap();
}

#[test]
fn the_tools_and_hooks_of_the_guide_are_read_as_they_are() {
    for file in ["tools.toml", "hooks.toml"] {
        let text = std::fs::read_to_string(Path::new(ROOT).join("docs/samples").join(file)).unwrap();
        let agent = "[agents.support]\nmodel = \"ollama:small\"\n";
        let config = read(&format!("{agent}{text}")).unwrap();
        assert!(config.agents[0].keys.tools.0.len() + config.agents[0].keys.hooks.len() > 3, "{file}");
    }
}

/// The names of a struct's fields, as its `Deserialize` asks for them.
fn fields_of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    struct Probe;

    #[derive(Debug, thiserror::Error)]
    #[error("the fields")]
    struct Fields(&'static [&'static str]);

    impl serde::de::Error for Fields {
        fn custom<T: std::fmt::Display>(_: T) -> Self {
            Self(&[])
        }
    }

    impl<'de> serde::Deserializer<'de> for Probe {
        type Error = Fields;

        fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Fields> {
            Err(Fields(&[]))
        }

        fn deserialize_struct<V: serde::de::Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Fields> {
            Err(Fields(fields))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    T::deserialize(Probe).err().map_or(&[], |Fields(fields)| fields)
}

/// Every key of every table, by the heading that the guide has for it.
fn all_keys() -> Vec<(&'static str, Vec<&'static str>)> {
    let agent = [fields_of::<agent::AgentKeys>(), fields_of::<model::ModelKeys>(), fields_of::<SettingsSpec>()];
    vec![
        ("[server]", fields_of::<ServerTable>().to_vec()),
        ("[[tokens]]", fields_of::<TokenTable>().to_vec()),
        ("[agents.NAME]", agent.concat()),
        ("[[agents.NAME.routes]]", fields_of::<RouteSpec>().to_vec()),
        ("[agents.NAME.mcp.SERVER]", fields_of::<ServerConfig>().to_vec()),
        ("kind = \"http\"", [fields_of::<HttpToolSpec>(), fields_of::<CommonKeys>()].concat()),
        ("kind = \"command\"", [fields_of::<CommandToolSpec>(), fields_of::<CommonKeys>()].concat()),
        ("kind = \"worker\"", fields_of::<CommonKeys>().to_vec()),
        ("`cache`", fields_of::<CacheSpec>().to_vec()),
        ("`rate_limit`", fields_of::<RateLimitSpec>().to_vec()),
        ("`circuit_breaker`", fields_of::<CircuitBreakerSpec>().to_vec()),
        ("`dry_run`", fields_of::<ScopeSpec>().to_vec()),
        ("`retry`", fields_of::<RetrySpec>().to_vec()),
        ("`concurrency`", fields_of::<ConcurrencySpec>().to_vec()),
        ("`instrument`", fields_of::<ScopeSpec>().to_vec()),
    ]
}

#[test]
fn the_guide_has_every_key_and_no_other() {
    let page = std::fs::read_to_string(Path::new(ROOT).join("docs/guide/configuration.md")).unwrap();
    for (table, keys) in all_keys() {
        let heading = page.lines().position(|line| line.starts_with('#') && line.contains(table));
        let heading = heading.unwrap_or_else(|| panic!("the page has no heading for {table}"));
        let section = page.lines().skip(heading + 1).take_while(|line| !line.starts_with('#'));
        let row_keys = |line: &str| -> Vec<String> {
            let cell = line.strip_prefix("| `").and_then(|row| row.split(" | ").next()).unwrap_or_default().to_owned();
            if cell.is_empty() {
                return Vec::new();
            }
            cell.trim_end_matches('`').split("`, `").map(str::to_owned).collect()
        };
        let mut written: Vec<String> = section.flat_map(row_keys).collect();
        let mut known: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        written.sort();
        known.sort();
        assert_eq!(written, known, "the keys of {table}");
    }
}
