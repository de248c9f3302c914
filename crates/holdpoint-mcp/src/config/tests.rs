use super::*;

fn read(text: &str) -> Result<ServerConfig, toml::de::Error> {
    toml::from_str(text)
}

#[test]
fn a_command_is_all_that_a_server_needs() {
    let config = read(r#"command = ["mcp-server-filesystem", "/srv/docs"]"#).unwrap();
    assert_eq!(config, ServerConfig::stdio(["mcp-server-filesystem", "/srv/docs"]));
    config.check().unwrap();
    assert_eq!(config.calls_at_once(), 1);
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
        concurrency = 4
        parallelizable = ["read_file"]
        repeat_safe = ["read_file"]
        timeout_ms = 1000
        protocol = "initialize"
        "#,
    )
    .unwrap();
    config.check().unwrap();
    assert_eq!(config.bearer, Some(SecretSource::Env("TOKEN".to_owned())));
    assert_eq!(config.calls_at_once(), 4);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let check = |text: &str, reason: &str| {
        let problem = match read(text) {
            Ok(config) => config.check().unwrap_err(),
            Err(error) => error.to_string(),
        };
        assert!(problem.contains(reason), "{text}: {problem}");
    };
    check("", "needs `command` or `url`");
    check("command = ['a']\nurl = 'http://a'", "both");
    check("url = 'nonsense'", "not a URL");
    check("url = 'file:///etc/passwd'", "http://");
    check("url = 'http://a:b@c/'", "password");
    check("url = 'http://a/'\ncwd = '/'", "`command`");
    check("command = ['a']\nbearer = { env = 'A' }", "`url`");
    check("command = ['a']\nenv = ['A=B']", "variable");
    check("command = ['a']\noffer = ['[']", "not a glob");
    check("command = ['a']\ntimeout_ms = 0", "time limit");
    check("command = ['a']\nconcurrency = 0", "concurrency");
    check("command = ['a']\naccepted = { a = 'sha256:00' }", "64 lower-case");
    check("command = ['a']\nbearer = 'my-token'", "bearer");
    check("command = ['a']\ncomand = 'a'", "unknown field");
}
