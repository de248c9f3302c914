//! Which conditions follow from which: how a rule that never decides is found.

use std::cmp::Ordering;

use super::Condition;
use super::condition::{Operator, Several};
use super::possible::{meets_all, values};

impl Condition {
    /// Whether everything that meets `narrow` plainly meets this one too. `false` where it is not plain.
    pub(crate) fn covers(&self, narrow: &Condition) -> bool {
        self.operators.iter().all(|operator| follows(operator, narrow))
    }
}

/// Whether an operator follows from a condition.
fn follows(operator: &Operator, narrow: &Condition) -> bool {
    let narrow = &*narrow.operators;
    if narrow.contains(operator) {
        return true;
    }
    // What is absent meets nothing else.
    if narrow.contains(&Operator::Present(false)) {
        return false;
    }
    if let Some(few) = narrow.iter().find_map(values) {
        let mut left = few.iter().filter(|literal| meets_all(narrow, literal));
        return left.all(|literal| meets_all(std::slice::from_ref(operator), literal));
    }
    match operator {
        Operator::Present(wanted) => *wanted,
        // What the condition does not let pass is not among what it lets pass.
        Operator::Ne(literal) => !meets_all(narrow, literal),
        wide => narrow.iter().any(|narrow| weaker(wide, narrow)),
    }
}

/// Whether the first plainly says the same as the second or less.
fn weaker(wide: &Operator, narrow: &Operator) -> bool {
    if let (Some(wide), Some(narrow)) = (wide.bound(), narrow.bound()) {
        let direction = wide.accepted[0];
        return direction == narrow.accepted[0]
            && match narrow.value.cmp(wide.value) {
                Ordering::Equal => {
                    wide.accepted.contains(&Ordering::Equal) || !narrow.accepted.contains(&Ordering::Equal)
                }
                order => order == direction,
            };
    }
    match (wide, narrow) {
        (Operator::StartsWith(wide), Operator::StartsWith(narrow)) => narrow.written().starts_with(wide.written()),
        (Operator::EndsWith(wide), Operator::EndsWith(narrow)) => narrow.written().ends_with(wide.written()),
        (Operator::PathUnder(Several(wide)), Operator::PathUnder(Several(narrow))) => {
            narrow.iter().all(|narrow| wide.iter().any(|wide| wide.operand.covers(&narrow.operand)))
        }
        (Operator::Host(Several(wide)), Operator::Host(Several(narrow))) => {
            narrow.iter().all(|narrow| wide.iter().any(|wide| wide.operand.covers(&narrow.operand)))
        }
        (Operator::Len(wide), Operator::Len(narrow))
        | (Operator::Any(wide), Operator::Any(narrow) | Operator::All(narrow))
        | (Operator::All(wide), Operator::All(narrow)) => wide.covers(narrow),
        _ => false,
    }
}
