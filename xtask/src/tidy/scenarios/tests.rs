use super::check;
use crate::tidy::{Tree, messages};

#[test]
fn two_scenarios_with_one_name_are_a_problem() {
    let tree = Tree::sample(&[("scenarios/a.yaml", "name: x\n"), ("scenarios/b.yaml", "# why\nname: \"x\"\n")]);
    assert_eq!(messages(&check(&tree)), ["scenarios/b.yaml:2: `scenarios/a.yaml` has the same name"]);
}

#[test]
fn a_scenario_without_a_name_is_a_problem() {
    for text in ["steps: []\n", "name:\n", "name: >\n  long\n"] {
        assert_eq!(check(&Tree::sample(&[("scenarios/deep/a.yaml", text)])).len(), 1, "{text}");
    }
}

#[test]
fn names_of_their_own_are_fine() {
    let tree =
        Tree::sample(&[("scenarios/a.yaml", "name: x\n"), ("scenarios/b.yaml", "name: y\n"), ("other.yaml", "")]);
    assert_eq!(check(&tree), []);
}
