//! The tools, called as an agent calls them, on real folders with everything in them that should not be there.
#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use holdpoint_codec::Context;
use holdpoint_core::{Blob, RequestedName};
use holdpoint_tools::{Registry, ToolExecutor};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const SECRET: &str = "the-secret-of-outside";

/// `root/skills/demo` with files, and `root/secret.txt` outside.
struct World {
    root: TempDir,
    skills: Skills,
}

impl World {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let demo = root.path().join("skills/demo");
        fs::create_dir_all(demo.join("references")).unwrap();
        fs::write(demo.join("SKILL.md"), "---\nname: demo\ndescription: shows things\n---\n# Demo\nDo it.\n").unwrap();
        fs::write(demo.join("references/forms.md"), "the forms").unwrap();
        fs::write(root.path().join("secret.txt"), SECRET).unwrap();
        fs::write(root.path().join("skills/secret.txt"), SECRET).unwrap();
        let skills = Skills::open([root.path().join("skills")]).unwrap();
        Self { root, skills }
    }

    fn demo(&self) -> std::path::PathBuf {
        self.root.path().join("skills/demo")
    }

    fn read(&self, path: &str) -> ToolResult {
        self.skills.file(&ReadFile { name: "demo".into(), path: path.into() })
    }

    fn load(&self) -> ToolResult {
        self.skills.loaded(&Load { name: "demo".into() })
    }
}

fn executor(skills: &Skills) -> ToolExecutor {
    let mut registry = Registry::new();
    for tool in skills.tools() {
        registry.register_shared(tool).unwrap();
    }
    ToolExecutor::with_registry(registry)
}

#[tokio::test]
async fn an_agent_lists_loads_and_reads_by_either_name() {
    let world = World::new();
    let executor = executor(&world.skills);
    for separator in ["_", "."] {
        let call = async |tool: &str, arguments: Value| {
            executor.execute(&format!("skills{separator}{tool}"), arguments, &Context::new()).await.output
        };
        assert_eq!(call("list", json!({})).await, r#"[{"description":"shows things","name":"demo"}]"#);
        let loaded = call("load", json!({"name": "demo"})).await;
        assert_eq!(loaded, "# Demo\nDo it.\n\nFiles of this skill, for `skills_read_file`:\n- references/forms.md");
        assert_eq!(call("read_file", json!({"name": "demo", "path": "references/forms.md"})).await, "the forms");
    }
}

#[test]
fn the_tools_say_what_executors_and_recovery_need_to_know() {
    let mut registry = Registry::new();
    for tool in World::new().skills.tools() {
        registry.register_shared(tool).unwrap();
    }
    let names: Vec<&str> = registry.tools().map(|tool| tool.name().as_str()).collect();
    assert_eq!(names, [LIST, LOAD, READ_FILE]);
    for tool in registry.tools() {
        let metadata = &tool.definition().metadata;
        assert_eq!((&*metadata.source, metadata.repeat, metadata.parallelizable), ("skills", Repeat::Safe, Some(true)));
    }
    assert!(registry.resolve(&RequestedName::new("skills.read_file")).is_some());
}

#[test]
fn a_skill_that_is_not_there_is_answered_with_those_that_are() {
    let world = World::new();
    let result = world.skills.loaded(&Load { name: "nope".into() });
    assert!(result.is_error());
    assert_eq!(result.text(), "There is no such skill. There are: demo.");
    let result = world.skills.file(&ReadFile { name: "../demo".into(), path: "SKILL.md".into() });
    assert_eq!(result.text(), "There is no such skill. There are: demo.");
}

#[test]
fn a_list_notices_new_skills_and_a_load_notices_new_text() {
    let world = World::new();
    let other = world.root.path().join("skills/other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("SKILL.md"), "---\nname: other\ndescription: new\n---\n").unwrap();
    assert!(world.skills.listed().unwrap().text().contains("\"other\""));
    fs::write(world.demo().join("SKILL.md"), "---\nname: demo\ndescription: b\n---\nnew text").unwrap();
    assert!(world.load().text().starts_with("new text"));
    fs::write(world.demo().join("SKILL.md"), "broken").unwrap();
    assert_eq!(world.load().text(), "The skill `demo` cannot be loaded at the moment.");
}

#[test]
fn binary_files_come_with_their_media_type() {
    let world = World::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01".to_vec();
    fs::write(world.demo().join("picture.txt"), &png).unwrap();
    let [Block::Image(Blob { media_type, bytes })] = &world.read("picture.txt").blocks[..] else { panic!("an image") };
    assert_eq!((&**media_type, &**bytes), ("image/png", &*png));
    fs::write(world.demo().join("form.pdf"), b"%PDF-1.7\n\xff\xff").unwrap();
    let [Block::File(blob)] = &world.read("form.pdf").blocks[..] else { panic!("a file") };
    assert_eq!(&*blob.media_type, "application/pdf");
    fs::write(world.demo().join("noise"), [0xff, 0x00, 0x01]).unwrap();
    let [Block::File(blob)] = &world.read("noise").blocks[..] else { panic!("a file") };
    assert_eq!(&*blob.media_type, "application/octet-stream");
    fs::write(world.demo().join("nul.bin.txt"), "a\0b").unwrap();
    fs::write(world.demo().join("zero.txt"), "a\0b").unwrap();
    assert!(matches!(world.read("zero.txt").blocks[..], [Block::File(_)]));
}

#[test]
fn a_file_above_the_limit_is_not_read() {
    let world = World::new();
    let file = fs::File::create(world.demo().join("large")).unwrap();
    file.set_len(FILE_BYTES_MAX).unwrap();
    assert!(!world.read("large").is_error());
    file.set_len(FILE_BYTES_MAX + 1).unwrap();
    assert_eq!(world.read("large").text(), "The file is larger than 5242880 bytes.");
}

#[test]
fn a_list_of_files_has_a_limit_and_says_that_there_are_more() {
    let world = World::new();
    for number in 0..=crate::FILES_LISTED_MAX {
        fs::write(world.demo().join(format!("f{number}")), "").unwrap();
    }
    let text = world.load().text();
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), crate::FILES_LISTED_MAX);
    assert!(text.ends_with("(there are more)"));
}

/// Everything that a model could write to get out, or to get at something that is not a plain file.
const HOSTILE: [&str; 62] = [
    "",
    ".",
    "..",
    "/",
    "../secret.txt",
    "../../secret.txt",
    "./../secret.txt",
    "references/../../secret.txt",
    "references/../../../secret.txt",
    "references/..",
    "references/../SKILL.md",
    "references//forms.md",
    "references/./forms.md",
    "references/",
    "references",
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "~/secret.txt",
    "~",
    "\\etc\\passwd",
    "..\\secret.txt",
    "references\\..\\..\\secret.txt",
    "C:\\secret.txt",
    "C:/secret.txt",
    "c:secret.txt",
    "\\\\server\\share\\secret.txt",
    "\\\\?\\C:\\secret.txt",
    "\\\\.\\pipe\\x",
    "file:///etc/passwd",
    "file://localhost/etc/passwd",
    "..\0",
    "\0/etc/passwd",
    "references/forms.md\0.png",
    "%2e%2e/secret.txt",
    "..%2fsecret.txt",
    "%2e%2e%2fsecret.txt",
    "..%c0%afsecret.txt",
    "．．/secret.txt",
    "..／secret.txt",
    "‥/secret.txt",
    "..;/secret.txt",
    "../secret.txt#",
    "... /secret.txt",
    ".. /secret.txt",
    "../secret.txt ",
    "\n../secret.txt",
    "..\n/secret.txt",
    ".\u{200b}./secret.txt",
    "link.txt",
    "absolute-link.txt",
    "folder-link/secret.txt",
    "folder-link/../secret.txt",
    "references/deep-link/secret.txt",
    "loop/loop/loop/x",
    "dangling",
    "fifo",
    "socket",
    ".hidden",
    ".git/config",
    "NUL",
    "SKILL.md:stream",
];

#[cfg(unix)]
#[test]
fn hostile_paths_read_nothing() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    let demo = world.demo();
    symlink("../../secret.txt", demo.join("link.txt")).unwrap();
    symlink(world.root.path().join("secret.txt"), demo.join("absolute-link.txt")).unwrap();
    symlink("../..", demo.join("folder-link")).unwrap();
    symlink("../../..", demo.join("references/deep-link")).unwrap();
    symlink(".", demo.join("loop")).unwrap();
    symlink("nowhere", demo.join("dangling")).unwrap();
    fs::create_dir(demo.join(".git")).unwrap();
    fs::write(demo.join(".git/config"), SECRET).unwrap();
    fs::write(demo.join(".hidden"), SECRET).unwrap();
    make_fifo(&demo.join("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(demo.join("socket")).unwrap();

    for path in HOSTILE {
        let result = world.read(path);
        assert!(result.is_error(), "{path:?} was read");
        assert!(!result.text().contains(SECRET), "{path:?}");
    }
    let listed = world.load().text();
    assert!(listed.ends_with("`skills_read_file`:\n- references/forms.md"), "{listed}");
}

#[cfg(unix)]
fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_swapped_for_a_link_again_and_again_never_gives_what_is_outside() {
    let world = World::new();
    let demo = world.demo();
    fs::create_dir(world.root.path().join("outside")).unwrap();
    fs::write(world.root.path().join("outside/forms.md"), SECRET).unwrap();
    std::os::unix::fs::symlink("../../outside", demo.join("link")).unwrap();
    let done = AtomicBool::new(false);
    let (mut inside, mut refused, mut leaked) = (0_u32, 0_u32, 0_u32);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // `references` is a folder, nothing, and a link, over and over.
            while !done.load(Ordering::Relaxed) {
                fs::rename(demo.join("references"), demo.join("aside")).unwrap();
                fs::rename(demo.join("link"), demo.join("references")).unwrap();
                fs::rename(demo.join("references"), demo.join("link")).unwrap();
                fs::rename(demo.join("aside"), demo.join("references")).unwrap();
            }
        });
        for _ in 0..200_000 {
            let text = world.read("references/forms.md").text();
            match &*text {
                "the forms" => inside += 1,
                SECRET => leaked += 1,
                _ => refused += 1,
            }
            if inside > 500 && refused > 500 {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(leaked, 0);
    assert!(inside > 0 && refused > 0, "{inside} read, {refused} refused");
}

#[test]
fn folders_that_are_too_deep_or_too_full_are_listed_as_far_as_the_limit() {
    let world = World::new();
    let deep: std::path::PathBuf = std::iter::repeat_n("d", crate::FOLDER_DEPTH_MAX + 1).collect();
    fs::create_dir_all(world.demo().join(&deep)).unwrap();
    fs::write(world.demo().join(&deep).join("too-deep"), "").unwrap();
    fs::write(world.demo().join(deep.parent().unwrap()).join("deep"), "").unwrap();
    let text = world.load().text();
    assert!(text.contains("d/deep\n") && !text.contains("too-deep") && text.ends_with("(there are more)"), "{text}");

    let world = World::new();
    fs::create_dir(world.demo().join("full")).unwrap();
    for number in 0..5100 {
        fs::create_dir(world.demo().join(format!("full/{number}"))).unwrap();
    }
    assert!(world.load().text().ends_with("(there are more)"));
}
