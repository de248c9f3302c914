//! Values stay where the template puts them.

use percent_encoding::percent_decode_str;
use proptest::prelude::*;

use super::*;

fn fill(template: &str, value: &str) -> Result<String, FillError> {
    let template = UrlTemplate::parse(template).unwrap_or_else(|error| panic!("{template} {error}"));
    template.fill(|_| Some(value.to_owned())).map(String::from)
}

#[test]
fn values_are_escaped() {
    let template = "https://a.example/orders/{order}/refund?reason={reason}";
    assert_eq!(fill(template, "42"), Ok("https://a.example/orders/42/refund?reason=42".into()));
    assert_eq!(
        fill(template, "a b&c=d?e#f%2e"),
        Ok("https://a.example/orders/a%20b%26c%3Dd%3Fe%23f%252e/refund?reason=a%20b%26c%3Dd%3Fe%23f%252e".into())
    );
    assert_eq!(fill("http://a.example/{a}.json", "ä"), Ok("http://a.example/%C3%A4.json".into()));
}

#[test]
fn values_that_would_change_the_path_are_refused() {
    for value in ["", ".", "..", "a/b", "/", "../admin", "a\\b", "..\\x", "a\nb", "a\0"] {
        assert_eq!(fill("http://a.example/x/{v}/y", value), Err(FillError::Unfit("v".into())), "{value:?}");
    }
    assert_eq!(fill("http://a.example/x/.{v}/y", "."), Err(FillError::Unfit("v".into())));
    assert_eq!(fill("http://a.example/x/{v}{w}/y", "."), Err(FillError::Unfit("w".into())));
    assert_eq!(fill("http://a.example/x/%2e{v}/y", "."), Err(FillError::Unfit(String::new())));
    assert_eq!(fill("http://a.example/x?v={v}", "../a/b"), Ok("http://a.example/x?v=..%2Fa%2Fb".into()));
    assert_eq!(fill("http://a.example/x?v={v}", ""), Ok("http://a.example/x?v=".into()));
}

#[test]
fn a_missing_value_and_a_long_url_are_refused() {
    let template = UrlTemplate::parse("http://a.example/{a}").expect("a template");
    assert_eq!(template.fill(|_| None), Err(FillError::Missing("a".into())));
    assert_eq!(template.fill(|_| Some("x".repeat(MAX_URL_BYTES))), Err(FillError::TooLong));
}

#[test]
fn what_is_not_a_url_with_a_fixed_host_is_refused() {
    for (url, problem) in [
        ("", "must begin with `http://` or `https://`"),
        ("a.example/x", "must begin with `http://` or `https://`"),
        ("ftp://a.example/", "must begin with `http://` or `https://`"),
        ("file:///etc/passwd", "must begin with `http://` or `https://`"),
        ("gopher://a.example/", "must begin with `http://` or `https://`"),
        ("javascript://a.example/", "must begin with `http://` or `https://`"),
        ("http:/a.example", "must begin with `http://` or `https://`"),
        ("http:///x", "has no host"),
        ("http://?x", "has no host"),
        ("http://{host}/x", "may have arguments in its path and its query only"),
        ("http://a.example:{port}/x", "may have arguments in its path and its query only"),
        ("http://{user}@a.example/", "may have arguments in its path and its query only"),
        ("{scheme}://a.example/", "must begin with `http://` or `https://`"),
        ("http://ana@a.example/", "holds a user or a password\nhint: use `headers` with a variable"),
        ("http://ana:pw@a.example/", "holds a user or a password\nhint: use `headers` with a variable"),
        ("http://:@a.example/", "holds a user or a password\nhint: use `headers` with a variable"),
        ("http://@a.example/", "holds a user or a password\nhint: use `headers` with a variable"),
        ("http://a.example/#x", "has a fragment, which is never sent"),
        ("http://a.example/#{x}", "has a fragment, which is never sent"),
        ("http://a.example/{x", "has a `{` or `}` that is not part of an argument such as `{order}`"),
        ("http://a.example/x}", "has a `{` or `}` that is not part of an argument such as `{order}`"),
        ("http://a.example/{}", "has a `{` or `}` that is not part of an argument such as `{order}`"),
        ("http://a.example/{{x}}", "has a `{` or `}` that is not part of an argument such as `{order}`"),
        ("http://a b/", "holds a space, a control character or a backslash"),
        ("http://a.example\\@b.example/", "holds a space, a control character or a backslash"),
        ("http://a\n.example/", "holds a space, a control character or a backslash"),
        ("http://%6cocalhost/", "has a `%` in its host"),
        ("http://a.example:0/", "has port 0"),
        ("http://a.example:99999/", "is not a URL"),
        ("http://[fe80::1%25eth0]/", "is not a URL"),
        ("http://[::1/", "is not a URL"),
    ] {
        assert_eq!(UrlTemplate::parse(url), Err(problem.to_owned()), "{url}");
    }
}

proptest! {
    #[test]
    fn a_value_comes_back_whole_and_alone(path in "\\PC{1,20}", query in any::<String>()) {
        let template = UrlTemplate::parse("https://a.example:8443/v1/{path}/end?q={query}&fixed=1").expect("a template");
        let filled = template.fill(|name| Some(if name == "path" { path.clone() } else { query.clone() }));
        let Ok(url) = filled else {
            let unfit = path.contains(['/', '\\']) || path.chars().any(char::is_control) || path == "." || path == "..";
            prop_assert!(unfit || matches!(filled, Err(FillError::TooLong)), "{path:?} {filled:?}");
            return Ok(());
        };
        prop_assert_eq!(url.host_str(), Some("a.example"));
        prop_assert_eq!(url.port(), Some(8443));
        let segments: Vec<_> = url.path_segments().expect("a path").collect();
        prop_assert_eq!(segments.len(), 3);
        prop_assert_eq!((segments[0], segments[2]), ("v1", "end"));
        prop_assert_eq!(percent_decode_str(segments[1]).decode_utf8().expect("UTF-8"), path);
        let raw: Vec<&str> = url.query().expect("a query").split('&').collect();
        prop_assert_eq!(raw.len(), 2);
        let value = raw[0].strip_prefix("q=").expect("the value");
        prop_assert_eq!(percent_decode_str(value).decode_utf8().expect("UTF-8"), query);
    }

    #[test]
    fn any_text_is_a_template_or_none_without_a_panic(text in "(https?://)?[a-z0-9{}/?#@:%.\\[\\]\\\\ ]{0,40}") {
        if let Ok(template) = UrlTemplate::parse(&text) {
            let _ = template.fill(|_| Some("../x".to_owned()));
            prop_assert!(matches!(template.example().scheme(), "http" | "https"));
            prop_assert!(template.example().username().is_empty());
        }
    }
}
