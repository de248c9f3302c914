use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use holdpoint_core::{AssistantMessage, CallArguments, Message, MessageCall};
use proptest::prelude::*;

use super::{Names, WIRE_NAME_BYTES_MAX, changed, is_accepted, wire_name};

fn names(list: &[&str]) -> Names {
    Names::with(list.iter().copied(), wire_name, changed)
}

#[test]
fn a_name_that_providers_accept_stays() {
    for name in ["work", "a", "_x", "mcp__files__read-file", &"a".repeat(64)] {
        assert_eq!(wire_name(name), name);
    }
}

#[test]
fn a_changed_name_is_the_same_in_every_process() {
    assert_eq!(wire_name("skills.list"), "skills_list-x03892ec58f");
    assert_eq!(wire_name("7zip"), "t7zip-x98fa304eb3");
}

#[test]
fn names_that_become_alike_stay_apart() {
    let names = names(&["a.b", "a_b", "a b", "ä"]);
    let wire: HashSet<&str> = names.wire().iter().map(|name| &**name).collect();
    assert_eq!(wire.len(), 4);
    assert!(wire.contains("a_b"));
}

#[test]
fn nobody_can_register_what_another_name_is_changed_to() {
    let changed = wire_name("a.b").into_owned();
    let names = names(&["a.b", &changed]);
    assert_ne!(names.wire()[0], names.wire()[1]);
    assert_eq!(&*names.to_registered(&names.wire()[0], &[]), "a.b");
    assert_eq!(*names.to_registered(&names.wire()[1], &[]), *changed);
}

#[test]
fn names_with_equal_digests_stay_apart() {
    let same = |_: &'static str| Cow::Borrowed("same");
    let names = Names::with(["a.b", "c.d", "e.f"].into_iter(), same, |name, salt| format!("{}-{salt}", &name[..1]));
    assert_eq!(names.wire(), ["same".into(), "c-1".into(), Arc::<str>::from("e-1")]);
    for (wire, name) in names.wire().iter().zip(["a.b", "c.d", "e.f"]) {
        assert_eq!(&*names.to_registered(wire, &[]), name);
        assert_eq!(names.to_wire(name), **wire);
    }
}

#[test]
fn a_name_of_the_history_is_mapped_back_even_when_it_is_not_offered_now() {
    let call = MessageCall {
        id: "c1".into(),
        provider_id: None,
        name: "old.tool".into(),
        arguments: CallArguments::Unusable("".into()),
    };
    let message = Message::Assistant(AssistantMessage { calls: vec![call], ..AssistantMessage::default() });
    let word = wire_name("old.tool");
    assert_eq!(&*Names::default().to_registered(&word, &[Arc::new(message)]), "old.tool");
}

#[test]
fn what_the_model_makes_up_stays_as_it_wrote_it() {
    assert_eq!(&*names(&["a.b"]).to_registered("no such tool", &[]), "no such tool");
}

proptest! {
    #[test]
    fn every_name_is_accepted_and_comes_back(list in proptest::collection::hash_set(".{0,140}|[a-c._]{1,4}", 0..20)) {
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let names = names(&list);
        let mut seen = HashSet::new();
        for (wire, name) in names.wire().iter().zip(&list) {
            prop_assert!(is_accepted(wire), "{wire}");
            prop_assert!(wire.len() <= WIRE_NAME_BYTES_MAX);
            prop_assert!(seen.insert(wire.clone()), "{wire} twice");
            prop_assert_eq!(&*names.to_registered(wire, &[]), *name);
            prop_assert_eq!(names.to_wire(name), &**wire);
        }
    }
}
