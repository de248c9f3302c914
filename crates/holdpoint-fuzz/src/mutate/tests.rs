use super::mutated;
use crate::{Edit, Kind, Plan};

fn after(text: &str, kind: Kind, at: u32, with: u32) -> String {
    let plan = Plan { file: 0, edits: vec![Edit { kind, at, with }] };
    String::from_utf8(mutated(&[text.as_bytes().to_vec()], &plan)).unwrap()
}

#[test]
fn without_edits_the_file_stays_as_it_is() {
    let plan = Plan { file: 3, edits: Vec::new() };
    assert_eq!(mutated(&[b"a".to_vec(), b"b".to_vec()], &plan), b"b");
    assert_eq!(mutated(&[], &plan), b"");
}

#[test]
fn bytes_are_flipped_cut_repeated_ended_and_spliced() {
    assert_eq!(after("abc", Kind::FlipBit, 1, 0), "acc");
    assert_eq!(after("abcd", Kind::CutBytes, 1, 2), "ad");
    assert_eq!(after("abcd", Kind::RepeatBytes, 1, 2), "abcbcd");
    assert_eq!(after("abcd", Kind::End, 2, 0), "ab");
    let plan = Plan { file: 0, edits: vec![Edit { kind: Kind::Splice, at: 1, with: 1 }] };
    assert_eq!(mutated(&[b"abcd".to_vec(), b"wxyz".to_vec()], &plan), b"axyz");
}

#[test]
fn words_are_whole_strings_numbers_and_signs() {
    let text = r#"{"a \" b": -1.5}"#;
    assert_eq!(after(text, Kind::DropWord, 1, 0), "{: -1.5}");
    assert_eq!(after(text, Kind::ReplaceWord, 3, 0), r#"{"a \" b": null}"#);
    assert_eq!(after(text, Kind::CopyWord, 3, 0), r#"{"a \" b": {}"#);
    assert_eq!(after(text, Kind::InsertWord, 0, 1), r#"true{"a \" b": -1.5}"#);
}

#[test]
fn lines_are_dropped_repeated_indented_and_swapped() {
    assert_eq!(after("a\nb\n", Kind::DropLine, 0, 0), "b\n");
    assert_eq!(after("a\nb\n", Kind::RepeatLine, 1, 0), "a\nb\nb\n");
    assert_eq!(after("a\nb\n", Kind::IndentLine, 1, 2), "a\n  b\n");
    assert_eq!(after("a\nb\n", Kind::SwapLines, 0, 1), "b\na\n");
}

#[test]
fn values_are_counted_from_the_document_through_its_members() {
    let text = r#"{"a":[1,2],"b":3}"#;
    assert_eq!(after(text, Kind::RetypeValue, 0, 0), "null");
    assert_eq!(after(text, Kind::RetypeValue, 3, 0), r#"{"a":[1,null],"b":3}"#);
    assert_eq!(after(text, Kind::DropValue, 1, 0), r#"{"b":3}"#);
    assert_eq!(after(text, Kind::DropValue, 2, 0), r#"{"a":[2],"b":3}"#);
    assert_eq!(after(text, Kind::NestValue, 4, 2), r#"{"a":[1,2],"b":{"a":[3]}}"#);
    assert_eq!(after(text, Kind::CopyValue, 2, 4), r#"{"a":[3,2],"b":3}"#);
    assert_eq!(after(text, Kind::ExtendValue, 0, 0), r#"{"a":[1,2],"b":3,"unknown_field":null}"#);
}

#[test]
fn what_is_not_json_has_no_values() {
    assert_eq!(after("{", Kind::RetypeValue, 0, 0), "{");
}

#[test]
fn no_edit_of_anything_panics() {
    for text in ["", "{", "{}", "\"", "\\", "null", "a: b\n"] {
        for kind in Kind::ALL {
            for at in [0, 1, 7, u32::MAX] {
                let plan = Plan { file: 0, edits: vec![Edit { kind, at, with: at }; 3] };
                mutated(&[text.as_bytes().to_vec()], &plan);
            }
        }
    }
}
