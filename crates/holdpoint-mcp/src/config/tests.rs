use holdpoint_config::{ConfigError, Document};

use super::*;

fn read(text: &str) -> Result<ServerConfig, ConfigError> {
    Document::toml(text, "f.toml")?.read()
}

#[test]
fn a_command_is_all_that_a_server_needs() {
    let config = read(r#"command = ["mcp-server-filesystem", "/srv/docs"]"#).unwrap();
    assert_eq!(config, ServerConfig::stdio(["mcp-server-filesystem", "/srv/docs"]));
    config.check().unwrap();
    assert_eq!(config.max_concurrency, 1);
}

#[test]
fn everything_can_be_written_in_a_file() {
    let config = read(
        r#"
        url = "https://example.com/mcp"
        bearer = { env = "TOKEN" }
        headers = { x-team = { file = "team" } }
        offer = ["read_*"]
        accepted = { read_file = "sha256:0000000000000000000000000000000000000000000000000000000000000000" }
        max_concurrency = 4
        parallelizable = ["read_file"]
        repeat_safe = ["read_file"]
        timeout_ms = 1000
        protocol = "initialize"
        "#,
    )
    .unwrap();
    config.check().unwrap();
    assert_eq!(config.bearer, Some(SecretSource::Env("TOKEN".to_owned())));
    assert_eq!(config.max_concurrency, 4);
}

#[test]
fn a_configuration_that_cannot_be_used_is_rejected_by_key() {
    let check = |text: &str, wanted: &str| {
        let problem = match read(text) {
            Ok(config) => config.check().unwrap_err().to_string(),
            Err(error) => error.problem().unwrap().to_string(),
        };
        assert!(problem.starts_with(wanted), "{text}: {problem}");
    };
    check("", "needs `command` or `url`");
    check("command = ['a']\nurl = 'http://a'", "`url` stands beside `command`");
    check("url = 'nonsense'", "`url` is not a URL");
    check("url = 'file:///etc/passwd'", "`url` must begin with `http://`");
    check("url = 'http://a:b@c/'", "`url` holds a user or a password");
    check("url = 'http://a/'\ncwd = '/'", "`cwd` is for servers with a `command`");
    check("url = 'http://a/'\nenv_from = { A = { env = 'A' } }", "`env_from` is for servers with a `command`");
    check("command = ['a']\nbearer = { env = 'A' }", "`bearer` is for servers with a `url`");
    check("command = ['a']\nheaders = { A = { env = 'A' } }", "`headers` is for servers with a `url`");
    check("command = ['a']\nenv = ['A=B']", "`env` has a name that no variable can have");
    check("command = ['a']\noffer = ['*', '[']", "`offer[1]` is not a glob");
    check("command = ['a']\ntimeout_ms = 0", "`timeout_ms` is 0, and must be between 1 and");
    check("command = ['a']\nconnect_timeout_ms = 0", "`connect_timeout_ms` is 0, and must be between 1 and");
    check("command = ['a']\nmax_concurrency = 0", "`max_concurrency` is 0, and must be between 1 and 64");
    check("command = ['a']\nmax_tools = 0", "`max_tools` is 0, and must be between 1 and");
    check("command = ['a']\nmax_message_bytes = 1000", "`max_message_bytes` is 1000, and must be between 1024 and");
    check("command = ['a']\naccepted = { a = 'sha256:00' }", "`accepted.a` is not `sha256:` and 64 lower-case");
    check("command = ['a']\nbearer = 'my-token'", "`bearer` must be a table with `env` or `file`");
    check("command = ['a']\ncomand = 'a'", "`comand` is an unknown key\nhint: did you mean `command`?");
}

#[test]
fn relative_paths_begin_at_the_folder_of_the_configuration() {
    let config = read("command = ['a']\ncwd = 'w'\nenv_from = { A = { file = 'f' }, B = { file = '/f' } }").unwrap();
    let config = config.in_folder(Path::new("/etc"));
    assert_eq!(config.cwd, Some("/etc/w".into()));
    let files = [SecretSource::File("/etc/f".into()), SecretSource::File("/f".into())];
    assert_eq!(config.secrets().cloned().collect::<Vec<_>>(), files);
}
