//! What a head may say.

use super::*;
use crate::NameError;

fn head(lines: &str) -> Result<Frontmatter, String> {
    let text = format!("---\n{lines}\n---\nbody\n");
    parse(&text).map(|file| file.frontmatter).map_err(|error| error.to_string())
}

/// The message about a head, without the file.
fn refused(lines: &str) -> String {
    head(lines).expect_err(lines).strip_prefix("SKILL.md:").expect("the file is named").to_owned()
}

#[test]
fn a_head_with_every_key_is_read() {
    let text = "---\r\nname: pdf-forms\r\ndescription: Fills in forms.\r\nlicense: MIT\r\ncompatibility: needs python\r\n\
                metadata:\r\n  author: ana\r\n  version: \"1.0\"\r\nallowed-tools: shell.exec  read\r\n---\r\n\r\n# Body\r\n";
    let SkillFile { frontmatter, body } = parse(text).expect("a good head");
    assert_eq!(frontmatter.name.as_str(), "pdf-forms");
    assert_eq!(frontmatter.description, "Fills in forms.");
    assert_eq!(frontmatter.license.as_deref(), Some("MIT"));
    assert_eq!(frontmatter.compatibility.as_deref(), Some("needs python"));
    assert_eq!(frontmatter.metadata["version"], "1.0");
    assert_eq!(frontmatter.allowed_tools, "shell.exec  read");
    assert_eq!(body, "# Body\r\n");
}

#[test]
fn a_byte_order_mark_and_folded_texts_are_tolerated() {
    let SkillFile { frontmatter, body } =
        parse("\u{feff}---\nname: a\ndescription: >\n  one\n  two\n---\n").expect("a good head");
    assert_eq!(frontmatter.description, "one two");
    assert_eq!(body, "");
}

#[test]
fn a_file_without_a_whole_head_is_refused() {
    for text in
        ["", "---", "---\n", "# Title\n---\nname: a\n---\n", "---\nname: a\ndescription: b\n", "----\nname: a\n---\n"]
    {
        assert!(matches!(parse(text), Err(FrontmatterError::Missing)), "{text:?}");
    }
}

#[test]
fn names_are_checked() {
    for (name, error) in [
        ("''", NameError::Empty),
        ("Pdf", NameError::Character),
        ("a b", NameError::Character),
        ("a_b", NameError::Character),
        ("ä", NameError::Character),
        ("../x", NameError::Character),
        ("-a", NameError::Hyphen),
        ("a-", NameError::Hyphen),
        ("a--b", NameError::Hyphen),
    ] {
        assert_eq!(refused(&format!("name: {name}\ndescription: b")), format!("2:7: `name` {error}"), "{name}");
    }
    assert!(head(&format!("name: {}\ndescription: b", "a".repeat(NAME_LENGTH))).is_ok());
    let long = refused(&format!("name: {}\ndescription: b", "a".repeat(NAME_LENGTH + 1)));
    assert_eq!(long, format!("2:7: `name` {}", NameError::TooLong));
}

const NAME_LENGTH: usize = crate::NAME_BYTES_MAX;

#[test]
fn lengths_are_counted_in_characters() {
    let long = |key: &str, chars: usize| head(&format!("name: a\n{key}: {}\ndescription: b", "ä".repeat(chars)));
    let description = |chars: usize| head(&format!("name: a\ndescription: {}", "ä".repeat(chars)));
    assert!(description(DESCRIPTION_CHARS_MAX).is_ok());
    let wanted = "SKILL.md:3:14: `description` must have between 1 and 1024 characters";
    assert_eq!(description(DESCRIPTION_CHARS_MAX + 1).unwrap_err(), wanted);
    assert_eq!(head("name: a\ndescription: '  '").unwrap_err(), wanted);
    assert!(long("compatibility", COMPATIBILITY_CHARS_MAX).is_ok());
    let wanted = "SKILL.md:3:16: `compatibility` must have between 1 and 500 characters";
    assert_eq!(long("compatibility", COMPATIBILITY_CHARS_MAX + 1).unwrap_err(), wanted);
}

#[test]
fn unknown_keys_are_named_with_the_nearest() {
    assert_eq!(
        refused("name: a\ndescripton: b"),
        "3:1: `descripton` is an unknown key\nhint: did you mean `description`?"
    );
    let error = refused("name: a\ndescription: b\nversion: {a: [1]}");
    assert!(error.starts_with("4:1: `version` is an unknown key\nhint: known are `name`,"), "{error}");
}

#[test]
fn missing_keys_and_wrong_types_are_refused() {
    assert_eq!(refused("description: b"), "2:1: the file needs `name`");
    assert_eq!(refused("name: a"), "2:1: the file needs `description`");
    for wrong in [
        "name: a\ndescription: [b]",
        "name: [a]\ndescription: b",
        "name: a\ndescription: {b: c}",
        "name: a\ndescription: b\nmetadata: c",
        "name: a\ndescription: b\nmetadata: {c: [d]}",
        "- a\n- b",
        "just a text",
        "name: a\nname: b\ndescription: c",
        "name: \"a\ndescription: b",
    ] {
        assert!(head(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_mistake_in_the_yaml_names_the_line_of_the_file() {
    let error = refused("name: a\ndescription: b\nlicense: [");
    assert!(error.starts_with(['3', '4', '5']), "{error}");
}

#[test]
fn a_head_that_grows_when_it_is_read_is_refused() {
    let large = format!("name: a\ndescription: b\nlicense: {}", "c".repeat(FRONTMATTER_BYTES_MAX));
    assert!(head(&large).unwrap_err().contains("more than 16384 bytes"));
    let mut bomb = String::from("name: a\ndescription: b\nmetadata:\n  a0: &a0 {x: y}\n");
    for level in 1..40 {
        let before = level - 1;
        bomb.push_str(&format!("  a{level}: &a{level} {{l: *a{before}, m: *a{before}, n: *a{before}}}\n"));
    }
    assert!(head(&bomb).is_err());
    let deep = format!("name: a\ndescription: b\nmetadata: {}{}", "{a: ".repeat(2000), "}".repeat(2000));
    assert!(head(&deep).is_err());
}

#[test]
fn what_looks_like_a_number_is_the_text_that_stands_there() {
    let frontmatter =
        head("name: a1\ndescription: 7\nlicense: 2024\nmetadata:\n  version: 1.0\n  beta: true").expect("texts");
    assert_eq!((frontmatter.description.as_str(), frontmatter.license.as_deref()), ("7", Some("2024")));
    assert_eq!((frontmatter.metadata["version"].as_str(), frontmatter.metadata["beta"].as_str()), ("1.0", "true"));
}
