use super::{PLACES, check};
use crate::tidy::Tree;

#[test]
fn a_place_on_one_machine_is_a_problem_in_any_file() {
    for place in PLACES {
        for path in ["a.rs", "README.md", "scripts/test", ".ci/run"] {
            let text = format!("// \"{place}project\"");
            assert_eq!(check(&Tree::sample(&[(path, &text)])).len(), 1, "{place} in {path}");
        }
    }
}

#[test]
fn addresses_and_longer_paths_are_not_meant() {
    for place in PLACES {
        let text = format!("https://example.org{place}x and src{place}x");
        assert_eq!(check(&Tree::sample(&[("README.md", &text)])), []);
    }
}
