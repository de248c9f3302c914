use super::check;
use crate::tidy::{Tree, messages};

#[test]
fn module_file_inside_its_folder_is_found() {
    let tree = Tree::sample(&[("crates/x/src/a/mod.rs", ""), ("crates/x/src/b.rs", ""), ("crates/x/src/b/c.rs", "")]);
    let found = "crates/x/src/a/mod.rs:1: a module file stands beside its folder: `foo.rs` and `foo/`";
    assert_eq!(messages(&check(&tree)), [found]);
}
