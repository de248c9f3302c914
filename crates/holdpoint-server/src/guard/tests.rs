use http::{HeaderMap, HeaderValue, header};

use super::check;

fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
    if let Some(origin) = origin {
        headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
    }
    headers
}

#[test]
fn only_names_of_this_machine_are_served() {
    for host in ["localhost", "LOCALHOST:7411", "127.0.0.1:7411", "127.9.9.9", "[::1]:7411", "[::1]"] {
        assert!(check(&headers(host, None), None).is_ok(), "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1:7411", "0.0.0.0", "[::]:1", "", "127.0.0.1.evil"] {
        let refusal = check(&headers(host, None), None).unwrap_err();
        assert_eq!(refusal.code(), "host_not_allowed", "{host}");
    }
    assert!(check(&HeaderMap::new(), None).is_err());
    assert!(check(&headers("localhost", None), Some("evil.example")).is_err());
}

#[test]
fn pages_of_other_sites_may_not_ask() {
    assert!(check(&headers("localhost:7411", Some("http://localhost:7411")), None).is_ok());
    for origin in ["http://evil.example", "null", "http://localhost:9999", "http://127.0.0.1:7411"] {
        let refusal = check(&headers("localhost:7411", Some(origin)), None).unwrap_err();
        assert_eq!(refusal.code(), "origin_not_allowed", "{origin}");
    }
}
