//! Paths that lead out of a skill are refused before anything is opened.

use proptest::prelude::*;

use super::*;

#[test]
fn plain_relative_paths_are_read() {
    for path in [
        "a",
        "./a",
        "references/forms.md",
        "a b/c d.txt",
        "scripts/run.py",
        "über/日本.md",
        "..a/b".trim_start_matches('.'),
        "computer.txt",
        "com10.txt",
        "console",
        "a..b",
        "%2e%2e/x",
        "nullable.md",
    ] {
        let parsed = SkillPath::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(parsed.to_string(), path.trim_start_matches("./"));
    }
}

#[test]
fn everything_else_is_refused_for_its_reason() {
    use PathError::*;
    for (path, reason) in [
        ("", Empty),
        ("./", Empty),
        ("/", Absolute),
        ("/etc/passwd", Absolute),
        ("//etc/passwd", Absolute),
        ("\\etc\\passwd", Absolute),
        ("\\\\server\\share\\x", Absolute),
        ("\\\\?\\C:\\x", Absolute),
        ("~", Absolute),
        ("~root/.ssh/id", Absolute),
        (".", Dots),
        ("..", Dots),
        ("../x", Dots),
        ("./../x", Dots),
        (".//x", Dots),
        ("././x", Dots),
        ("a/../../x", Dots),
        ("a/..", Dots),
        ("a/./b", Dots),
        ("a//b", Dots),
        ("a/", Dots),
        (".git/config", Hidden),
        ("a/.env", Hidden),
        ("...", Hidden),
        (".../x", Hidden),
        (".. /x", Hidden),
        ("..\t/x", Character),
        ("a\0", Character),
        ("../x\0.md", Character),
        ("a\nb", Character),
        ("..\\x", Character),
        ("a\\..\\..\\x", Character),
        ("C:/x", Character),
        ("C:x", Character),
        ("c:\\x", Character),
        ("SKILL.md::$DATA", Character),
        ("file:///etc/passwd", Character),
        ("a?b", Character),
        ("a*b", Character),
        ("SKILL.md.", Character),
        ("SKILL.md ", Character),
        (" a", Character),
        ("a/ ../x", Character),
        ("a\u{200b}", Character),
        (".\u{200c}git/x", Character),
        ("a\u{202e}dm.x", Character),
        ("\u{feff}a", Character),
        ("NUL", Device),
        ("nul.txt", Device),
        ("a/CON", Device),
        ("aux.md", Device),
        ("CoM1", Device),
        ("lpt9.log", Device),
        ("COM¹", Device),
        ("CONIN$", Device),
    ] {
        assert_eq!(SkillPath::parse(path), Err(reason), "{path:?}");
    }
}

#[test]
fn length_and_depth_have_limits() {
    assert!(SkillPath::parse(&"a".repeat(PATH_BYTES_MAX)).is_ok());
    assert_eq!(SkillPath::parse(&"a".repeat(PATH_BYTES_MAX + 1)), Err(PathError::TooLong));
    assert!(SkillPath::parse(&["a"; PATH_PARTS_MAX].join("/")).is_ok());
    assert_eq!(SkillPath::parse(&["a"; PATH_PARTS_MAX + 1].join("/")), Err(PathError::TooLong));
}

#[test]
fn debug_hides_the_path() {
    assert_eq!(format!("{:?}", SkillPath::parse("a/b").expect("a path")), "SkillPath(2 parts)");
}

proptest! {
    #[test]
    fn what_is_accepted_never_leaves_a_folder(text in "[./\\\\~a-cC: \u{200b}\0%]{0,12}") {
        if let Ok(path) = SkillPath::parse(&text) {
            let shown = path.to_string();
            let shown = std::path::Path::new(&shown);
            prop_assert!(shown.components().all(|part| matches!(part, std::path::Component::Normal(_))));
            prop_assert!(!shown.as_os_str().is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in any::<String>()) {
        let _ = SkillPath::parse(&text);
    }
}
