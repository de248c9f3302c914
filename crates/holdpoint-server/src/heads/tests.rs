use super::{Heads, Place};

const LENGTH: &str = "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 5\r\n\r\nab\r\nc";
const PIECES: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\nContent-Length: 1\r\n\r\n";
const NONE: &str = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
const BOTH: &str = "POST / HTTP/1.1\r\nCONTENT-LENGTH: 5\r\nTransfer-encoding:chunked\r\n\r\n";
const OTHER_WAY: &str = "POST / HTTP/1.1\nTransfer-Encoding: chunked\nContent-Length: +5\n\n";

/// However it arrives, it is the same.
fn check(sent: &str, both: bool) -> Place {
    let mut places = Vec::new();
    for size in [1, 2, 3, 7, sent.len()] {
        let mut heads = Heads::default();
        let found = heads.found();
        sent.as_bytes().chunks(size).for_each(|bytes| heads.feed(bytes));
        assert_eq!(found.seen(), both, "{sent:?} by {size}");
        places.push(heads.at);
    }
    assert!(places.windows(2).all(|two| two[0] == two[1]), "{sent:?}: {places:?}");
    places[0]
}

#[test]
fn requests_are_followed_one_after_another() {
    for requests in [vec![LENGTH], vec![PIECES], vec![NONE], vec![LENGTH, PIECES, NONE, LENGTH, NONE, PIECES]] {
        assert_eq!(check(&requests.concat(), false), Place::Head);
        for both in [BOTH, OTHER_WAY] {
            assert_eq!(check(&[&requests.concat(), both].concat(), true), Place::Lost);
        }
    }
}

#[test]
fn what_stands_in_a_body_is_no_head() {
    let body = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BOTH}", BOTH.len());
    assert_eq!(check(&body, false), Place::Head);
    let piece = format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{BOTH}\r\n0\r\n\r\n", BOTH.len());
    assert_eq!(check(&piece, false), Place::Head);
}

#[test]
fn what_cannot_be_followed_is_given_up() {
    for sent in ["GET / HTTP/1.1\r\nno colon\r\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"] {
        assert_eq!(check(sent, false), Place::Lost);
    }
    let mut heads = Heads::default();
    heads.feed(&vec![b'a'; 100_000]);
    assert_eq!(heads.at, Place::Lost);
}
