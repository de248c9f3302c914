use std::collections::BTreeSet;

use super::*;

/// What a browser loads before it can do anything, compressed.
const PACKED_BYTES_MAX: usize = 150 * 1024;

#[test]
fn every_file_of_the_folder_is_part_of_the_program() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/console");
    let there = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    // Types are for those who change the console, not for browsers.
    let there: BTreeSet<String> = there.filter(|name| !name.ends_with(".d.ts")).collect();
    let known: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, known);
}

#[test]
fn all_files_together_are_small() {
    let packed: usize = FILES.iter().map(|(name, bytes)| asset(name, bytes, "0").unwrap().packed.len()).sum();
    assert!(packed < PACKED_BYTES_MAX, "{packed} bytes");
}

#[test]
fn no_page_asks_anybody_else_for_anything() {
    for (name, bytes) in FILES {
        let text = std::str::from_utf8(bytes).unwrap();
        let foreign = text
            .match_indices("://")
            .filter(|(at, _)| !text[..*at].ends_with("http") || !text[*at..].starts_with("://www.w3.org/"));
        assert_eq!(foreign.count(), 0, "{name} names another place");
        for door in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc"]
        {
            assert!(!text.contains(door), "{name} uses {door}");
        }
    }
}

#[test]
fn gzip_is_sent_only_to_those_who_take_it() {
    let asks = |text: &'static str| HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(text))]);
    assert!(takes_gzip(&asks("br, gzip;q=0.8")));
    assert!(!takes_gzip(&asks("br")));
    assert!(!takes_gzip(&asks("gzip;q=0, br")));
    assert!(!takes_gzip(&HeaderMap::new()));
}
