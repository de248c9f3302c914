//! URLs that try to reach private addresses. Real servers on this machine prove that nothing arrived.

use crate::support;

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::any;
use holdpoint_config::Problem;
use holdpoint_core::{ResultKind, ToolResult};
use holdpoint_endpoints::Surroundings;
use serde_json::json;
use support::{Names, Server, call, serve, serve_raw, spec, text, tool_in};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Names that point inside, as an attacker's name server would answer.
fn hostile_names() -> Names {
    Names::default()
        .with("localhost", &[&["127.0.0.1", "::1"]])
        .with("localhost.", &[&["127.0.0.1"]])
        .with("loopback.test", &[&["127.0.0.1"]])
        .with("loopback6.test", &[&["::1"]])
        .with("private.test", &[&["10.0.0.1"]])
        .with("mixed.test", &[&["8.8.8.8", "127.0.0.1"]])
        .with("mixed6.test", &[&["2606:4700::1111", "::1"]])
        .with("mapped.test", &[&["::ffff:127.0.0.1"]])
        .with("nat64.test", &[&["64:ff9b::7f00:1"]])
        .with("6to4.test", &[&["2002:7f00:1::"]])
        .with("any.test", &[&["0.0.0.0"]])
        .with("any6.test", &[&["::"]])
        .with("metadata.test", &[&["169.254.169.254"]])
        .with("metadata.google.internal", &[&["169.254.169.254"]])
        .with("link.test", &[&["fe80::1"]])
        .with("multicast.test", &[&["224.0.0.1"]])
        .with("nothing.test", &[&[]])
        .with("127.0.0.1.nip.test", &[&["127.0.0.1"]])
        .with("xn--lclhost-5wa.test", &[&["127.0.0.1"]])
        .with("*.loopback.test", &[&["127.0.0.1"]])
}

/// `PORT` is that of a server on 127.0.0.1, `SIX` that of one on ::1.
const HOSTILE: [&str; 84] = [
    // Plain addresses.
    "http://127.0.0.1:PORT/",
    "http://127.0.0.2:PORT/",
    "http://127.255.255.254:PORT/",
    "https://127.0.0.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://0.0.0.0:PORT/",
    "http://10.0.0.1:PORT/",
    "http://172.16.0.1:PORT/",
    "http://192.168.0.1:PORT/",
    "http://100.64.0.1:PORT/",
    "http://169.254.1.1:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/",
    "http://100.100.100.200/",
    "http://224.0.0.1:PORT/",
    "http://240.0.0.1:PORT/",
    "http://255.255.255.255:PORT/",
    "http://198.18.0.1:PORT/",
    // Other ways to write the same address.
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://0:PORT/",
    "http://2130706433:PORT/",
    "http://017700000001:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7F.0x0.0x0.0x1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://0x7f.1:PORT/",
    "http://127.0.0.0x1:PORT/",
    "http://0300.0250.0.1:PORT/",
    "http://3232235521:PORT/",
    "http://2852039166/latest/meta-data/",
    "http://0xa9fea9fe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://127。0。0。1:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://127.0.0.1%00.example.com:PORT/",
    // IPv6.
    "http://[::1]:SIX/",
    "http://[0:0:0:0:0:0:0:1]:SIX/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:SIX/",
    "http://[::]:SIX/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[::ffff:169.254.169.254]/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::7f00:1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::]:PORT/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fc00::1]:SIX/",
    "http://[fe80::1]:SIX/",
    "http://[fe80::1%25lo]:SIX/",
    "http://[::1%25lo]:SIX/",
    "http://[::1%lo]:SIX/",
    "http://[ff02::1]:SIX/",
    "http://[fec0::1]:SIX/",
    // Names.
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://loopback.test:PORT/",
    "http://loopback6.test:SIX/",
    "http://private.test:PORT/",
    "http://mixed.test:PORT/",
    "http://mixed6.test:SIX/",
    "http://mapped.test:PORT/",
    "http://nat64.test:PORT/",
    "http://6to4.test:PORT/",
    "http://any.test:PORT/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://multicast.test:PORT/",
    "http://127.0.0.1.nip.test:PORT/",
    // Users, backslashes and other schemes.
    "http://example.com@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://example.com:80@127.0.0.1:PORT/",
    "http:\\\\127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/_",
];

/// Two servers that answer whatever comes.
struct Victims {
    four: Server,
    six: Server,
}

impl Victims {
    async fn new() -> Self {
        let answer = |mut stream: tokio::net::TcpStream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nreached").await;
        };
        Self { four: serve_raw("127.0.0.1:0", answer).await, six: serve_raw("[::1]:0", answer).await }
    }

    fn url(&self, text: &str) -> String {
        text.replace("PORT", &self.four.port().to_string()).replace("SIX", &self.six.port().to_string())
    }

    fn assert_untouched(&self, what: &str) {
        assert_eq!((self.four.connections(), self.six.connections()), (0, 0), "{what}");
    }
}

fn build(url: &str, surroundings: &Surroundings) -> Result<std::sync::Arc<dyn holdpoint_tools::Tool>, Problem> {
    spec(json!({ "kind": "http", "method": "GET", "url": url, "timeout_ms": 5000 })).build_in("t", surroundings)
}

async fn refused(url: &str, surroundings: &Surroundings) -> Option<String> {
    match build(url, surroundings) {
        Err(error) => Some(error.to_string()),
        Ok(tool) => match tool.call(call(&json!({}))).await {
            Ok(ToolResult { kind: ResultKind::Error, .. }) => Some(String::new()),
            _ => None,
        },
    }
}

#[tokio::test]
async fn the_servers_can_be_reached_by_those_who_may() {
    let victims = Victims::new().await;
    let names = hostile_names();
    for url in ["http://127.0.0.1:PORT/", "http://[::1]:SIX/", "http://loopback.test:PORT/", "http://127.1:PORT/"] {
        let table = json!({ "kind": "http", "url": victims.url(url), "allow_private": true });
        assert_eq!(text(&tool_in(table, &names.surroundings()), json!({})).await, "reache", "{url}");
    }
    assert_eq!((victims.four.connections(), victims.six.connections()), (3, 1));
}

#[tokio::test]
async fn no_hostile_url_reaches_anything() {
    let victims = Victims::new().await;
    let surroundings = hostile_names().surroundings();
    for text in HOSTILE {
        let url = victims.url(text);
        assert!(refused(&url, &surroundings).await.is_some(), "{url} was not refused");
        victims.assert_untouched(&url);
    }
}

#[tokio::test]
async fn no_redirect_reaches_what_its_url_could_not() {
    let victims = Victims::new().await;
    // The tool's own service is inside and allowed: it must not be a door to its neighbours.
    let to = |uri: Uri| async move {
        let location = percent_encoding::percent_decode_str(uri.query().unwrap_or_default()).collect::<Vec<u8>>();
        (StatusCode::FOUND, [("location", location)])
    };
    let service = serve(Router::new().fallback(any(to))).await;
    let names = hostile_names().with("service.test", &[&["127.0.0.1"]]);
    for own in ["127.0.0.1", "service.test"] {
        for text_of in HOSTILE {
            let target = victims.url(text_of);
            let query: String =
                percent_encoding::utf8_percent_encode(&target, percent_encoding::NON_ALPHANUMERIC).collect();
            let url = format!("http://{own}:{}/?{query}", service.port());
            let table = json!({
                "kind": "http", "method": "GET", "url": url, "allow_private": true, "timeout_ms": 5000,
            });
            let said = text(&tool_in(table, &names.surroundings()), json!({})).await;
            assert!(said.starts_with("failed: "), "{target}: {said}");
            victims.assert_untouched(&target);
        }
    }
}

#[tokio::test]
async fn addresses_that_no_tool_may_reach_are_refused_even_if_private_ones_are_allowed() {
    let names = hostile_names();
    for url in [
        "http://169.254.169.254/",
        "http://metadata.test/",
        "http://metadata.google.internal/",
        "http://[fd00:ec2::254]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "http://multicast.test/",
        "http://any6.test/",
        "http://6to4.test/",
        "http://nothing.test/",
    ] {
        let built =
            spec(json!({ "kind": "http", "url": url, "allow_private": true })).build_in("t", &names.surroundings());
        if let Ok(tool) = built {
            assert!(text(&tool, json!({})).await.starts_with("failed: The "), "{url}");
        }
    }
}

/// A name that points to one server when it is checked and to another when it is connected to.
#[tokio::test]
async fn a_name_is_looked_up_once_for_a_connection() {
    let victims = Victims::new().await;
    let port = victims.four.port();
    // Whoever asks twice gets an address where nobody listens.
    let names = Names::default().with("rebinding.test", &[&["127.0.0.1"], &["127.0.0.9"]]);
    let table = json!({ "kind": "http", "url": format!("http://rebinding.test:{port}/"), "allow_private": true });
    assert_eq!(text(&tool_in(table, &names.surroundings()), json!({})).await, "reache");
    assert_eq!((names.asked(), victims.four.connections()), (1, 1));
}

#[tokio::test]
async fn a_name_that_turns_private_is_refused_when_it_does() {
    let victims = Victims::new().await;
    let url = format!("http://turning.test:{}/", victims.four.port());
    let names = Names::default().with("turning.test", &[&["10.1.2.3"], &["127.0.0.1"], &["::1"]]);
    let tool = build(&url, &names.surroundings()).unwrap();
    for _ in 0..3 {
        assert_eq!(text(&tool, json!({})).await, "failed: The address of this tool may not be reached.");
    }
    assert_eq!(names.asked(), 3);
    victims.assert_untouched(&url);
}

#[tokio::test]
async fn a_refused_literal_says_what_to_do() {
    let error = build("http://127.0.0.1:9000/", &Surroundings::default()).err().unwrap();
    assert_eq!(
        error.to_string(),
        "`t.url` is a private or special address\nhint: `allow_private = true` if it is meant"
    );
}

/// Runs itself again in an environment with proxies, which only a process of its own can have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_of_the_environment_is_not_used() {
    const TARGET: &str = "HOLDPOINT_TEST_PROXIED_TARGET";
    if let Ok(url) = std::env::var(TARGET) {
        let table = json!({ "kind": "http", "url": url, "allow_private": true });
        assert_eq!(text(&tool_in(table, &Surroundings::default()), json!({})).await, "reache");
        return;
    }
    let (victims, proxy) = (Victims::new().await, Victims::new().await);
    let address = proxy.four.url("");
    let mut again = tokio::process::Command::new(std::env::current_exe().unwrap());
    again
        .args(["--exact", "http_addresses::a_proxy_of_the_environment_is_not_used"])
        .env(TARGET, victims.four.url("/"));
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "HTTPS_PROXY"] {
        again.env(name, &address);
    }
    let output = again.env_remove("NO_PROXY").env_remove("no_proxy").output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((victims.four.connections(), proxy.four.connections()), (1, 0));
}
