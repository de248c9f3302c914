//! Folders of skills: what is found, what is left out, what changes.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::fs;

use tempfile::TempDir;

use super::*;

fn skill(root: &Path, name: &str, text: &str) {
    fs::create_dir_all(root.join(name)).unwrap();
    fs::write(root.join(name).join("SKILL.md"), text).unwrap();
}

fn good(root: &Path, name: &str) {
    skill(root, name, &format!("---\nname: {name}\ndescription: does {name}\n---\n# {name}\n"));
}

fn names(skills: &Skills) -> Vec<String> {
    skills.skills().iter().map(|skill| skill.name().to_string()).collect()
}

fn problems(skills: &Skills) -> Vec<String> {
    let strip = |problem: &Arc<SkillProblem>| {
        format!("{}: {}", problem.folder.file_name().unwrap().to_string_lossy(), problem.kind)
    };
    skills.problems().iter().map(strip).collect()
}

#[test]
fn one_bad_skill_is_reported_and_does_not_disable_the_others() {
    let root = TempDir::new().unwrap();
    good(root.path(), "good");
    good(root.path(), "other");
    skill(root.path(), "no-head", "# nothing");
    skill(root.path(), "misnamed", "---\nname: another\ndescription: a\n---\n");
    skill(root.path(), "Upper", "---\nname: upper\ndescription: a\n---\n");
    fs::create_dir(root.path().join("no-skill")).unwrap();
    fs::create_dir(root.path().join(".git")).unwrap();
    fs::write(root.path().join("README.md"), "not a skill").unwrap();
    fs::create_dir(root.path().join("binary")).unwrap();
    fs::write(root.path().join("binary/SKILL.md"), [0xff, 0xfe, 0]).unwrap();
    fs::create_dir(root.path().join("large")).unwrap();
    let too_large = usize::try_from(crate::skill::SKILL_BYTES_MAX).unwrap() + 1;
    fs::write(root.path().join("large/SKILL.md"), vec![b'a'; too_large]).unwrap();

    let skills = Skills::open([root.path()]).unwrap();
    assert_eq!(names(&skills), ["good", "other"]);
    assert_eq!(
        problems(&skills),
        [
            "Upper: the folder cannot be a skill: its name may hold only the letters a to z, digits and hyphens",
            "binary: `SKILL.md` is not UTF-8",
            "large: `SKILL.md` is larger than 262144 bytes",
            "misnamed: `SKILL.md`: `name` is `another`, and must be the name of the folder",
            "no-head: SKILL.md: the file does not begin with frontmatter between two lines of `---`",
        ]
    );
    assert_eq!(skills.find("good").unwrap().frontmatter().description, "does good");
    assert!(skills.find("Upper").is_none() && skills.find("../good").is_none());
}

#[test]
fn of_two_skills_with_one_name_the_earlier_folder_has_its_way() {
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    good(first.path(), "same");
    skill(second.path(), "same", "---\nname: same\ndescription: other\n---\n");
    good(second.path(), "only-here");
    let skills = Skills::open([first.path(), second.path()]).unwrap();
    assert_eq!(names(&skills), ["only-here", "same"]);
    assert_eq!(skills.find("same").unwrap().frontmatter().description, "does same");
    assert!(problems(&skills)[0].starts_with("same: a skill of this name is in `"), "{:?}", problems(&skills));
}

#[test]
fn a_folder_that_is_not_there_is_refused_by_its_path() {
    let error = Skills::open(["no/such/folder"]).unwrap_err();
    assert_eq!(error.to_string(), "the folder of skills `no/such/folder` cannot be opened");
    assert_eq!(error.code(), Code::InvalidConfig);
}

#[test]
fn a_reload_says_what_changed() {
    let root = TempDir::new().unwrap();
    good(root.path(), "a");
    good(root.path(), "b");
    good(root.path(), "c");
    fs::write(root.path().join("c/script.sh"), "one").unwrap();
    let skills = Skills::open([root.path()]).unwrap();
    assert!(skills.reload().is_empty());

    skill(root.path(), "a", "---\nname: a\ndescription: new words\n---\n");
    fs::remove_dir_all(root.path().join("b")).unwrap();
    fs::write(root.path().join("c/script.sh"), "another length").unwrap();
    good(root.path(), "d");
    let changes = skills.reload();
    let text = |names: &[SkillName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(text(&changes.added), ["d"]);
    assert_eq!(text(&changes.changed), ["a", "c"]);
    assert_eq!(text(&changes.removed), ["b"]);
    assert_eq!(skills.clone().find("a").unwrap().frontmatter().description, "new words");

    skill(root.path(), "a", "broken");
    assert_eq!(text(&skills.reload().removed), ["a"]);
    assert_eq!(problems(&skills).len(), 1);
    good(root.path(), "a");
    assert_eq!(text(&skills.reload().added), ["a"]);
    assert!(problems(&skills).is_empty());
}

#[test]
fn a_folder_that_vanishes_is_a_problem_and_no_panic() {
    let root = TempDir::new().unwrap();
    let inner = root.path().join("skills");
    good(&inner, "a");
    let skills = Skills::open([&inner]).unwrap();
    fs::remove_dir_all(&inner).unwrap();
    assert_eq!(skills.reload().removed.len(), 1);
    assert!(matches!(skills.problems()[0].kind, ProblemKind::NoFolder(_)));
    good(&inner, "a");
    assert_eq!(skills.reload().added.len(), 1);
}

#[test]
fn more_skills_than_the_limit_are_left_out_and_reported_once() {
    let root = TempDir::new().unwrap();
    for number in 0..SKILLS_MAX + 3 {
        good(root.path(), &format!("s{number:05}"));
    }
    let skills = Skills::open([root.path()]).unwrap();
    assert_eq!(skills.skills().len(), SKILLS_MAX);
    assert!(matches!(skills.problems()[..], [ref only] if matches!(only.kind, ProblemKind::TooMany)));
}

#[cfg(unix)]
#[test]
fn a_skill_that_is_a_link_is_left_out() {
    let (root, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    good(outside.path(), "linked");
    std::os::unix::fs::symlink(outside.path().join("linked"), root.path().join("linked")).unwrap();
    fs::create_dir(root.path().join("half")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("linked/SKILL.md"), root.path().join("half/SKILL.md")).unwrap();
    let skills = Skills::open([root.path()]).unwrap();
    assert!(names(&skills).is_empty());
    let text = "the folder or its `SKILL.md` is a link or not a plain file";
    assert_eq!(problems(&skills), [format!("half: {text}"), format!("linked: {text}")]);
}
