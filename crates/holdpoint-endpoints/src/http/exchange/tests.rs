//! What goes along to where an answer points.

use reqwest::Method;
use reqwest::header::HeaderValue;

use super::*;

fn request(url: &str) -> Prepared {
    let mut headers = HeaderMap::new();
    let mut secret = HeaderValue::from_static("s3cret");
    secret.set_sensitive(true);
    headers.insert("x-key", secret);
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer s3cret"));
    headers.insert("idempotency-key", HeaderValue::from_static("k"));
    headers.insert("x-team", HeaderValue::from_static("support"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Prepared { method: Method::POST, url: url.parse().expect("a URL"), headers, body: Some(b"{}".to_vec()) }
}

fn follow_to(from: &str, status: u16, location: &str) -> Result<Prepared, Fault> {
    follow(request(from), StatusCode::from_u16(status).expect("a status"), location)
}

fn names(request: &Prepared) -> Vec<&str> {
    let mut names: Vec<&str> = request.headers.keys().map(reqwest::header::HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

#[test]
fn to_the_same_origin_everything_goes_along() {
    let next = follow_to("https://a.example/x", 307, "/y#z").expect("a redirect");
    assert_eq!((next.url.as_str(), next.method.as_str()), ("https://a.example/y", "POST"));
    assert_eq!(names(&next), ["authorization", "content-type", "idempotency-key", "x-key", "x-team"]);
    assert_eq!(next.body.as_deref(), Some(&b"{}"[..]));
}

#[test]
fn to_another_origin_no_secret_goes_along() {
    for elsewhere in ["https://b.example/", "https://a.example:8443/", "https://sub.a.example/", "//b.example/y"] {
        let next = follow_to("https://a.example/x", 303, elsewhere).expect("a redirect");
        assert_eq!(next.method, Method::GET);
        assert_eq!(names(&next), ["x-team"], "{elsewhere}");
        assert!(next.body.is_none());
    }
}

#[test]
fn a_body_does_not_go_to_another_origin() {
    for status in [307, 308] {
        assert_eq!(follow_to("http://a.example/", status, "http://b.example/").err(), Some(Fault::BadRedirect));
    }
}

#[test]
fn what_may_not_be_followed_is_not() {
    for location in
        ["http://a.example/", "ftp://a.example/", "file:///x", "https://u@a.example/", "https://", "data:,x"]
    {
        assert_eq!(follow_to("https://a.example/", 302, location).err(), Some(Fault::BadRedirect), "{location}");
    }
    assert!(follow_to("http://a.example/", 302, "https://a.example/").is_ok());
}
