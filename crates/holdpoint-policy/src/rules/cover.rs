//! Which conditions follow from which: how a rule that never decides is found.

use std::cmp::Ordering;

use super::operator::{CompiledCondition, Kind, Test};
use super::possible::{meets_all, values};

impl CompiledCondition {
    /// Whether everything that meets `narrow` plainly meets this one too. `false` where it is not plain.
    pub(crate) fn covers(&self, narrow: &CompiledCondition) -> bool {
        self.tests.iter().all(|test| follows(test, narrow))
    }
}

/// Whether a test follows from a condition.
fn follows(test: &Test, narrow: &CompiledCondition) -> bool {
    if narrow.tests.iter().any(|known| known.operator == test.operator && known.operand == test.operand) {
        return true;
    }
    // What is absent meets nothing else.
    if narrow.tests.iter().any(|known| matches!(known.kind, Kind::Present(false))) {
        return false;
    }
    if let Some(few) = narrow.tests.iter().find_map(|known| values(&known.kind)) {
        let mut left = few.iter().filter(|literal| meets_all(&narrow.tests, literal));
        return left.all(|literal| meets_all(std::slice::from_ref(test), literal));
    }
    match &test.kind {
        Kind::Present(wanted) => *wanted,
        // What the condition does not let pass is not among what it lets pass.
        Kind::Differs(literal) => !meets_all(&narrow.tests, literal),
        Kind::Equals(_) | Kind::OneOf(_) | Kind::Contains(_) | Kind::Matches(_) => false,
        Kind::Compares(..)
        | Kind::StartsWith(_)
        | Kind::EndsWith(_)
        | Kind::Under(_)
        | Kind::Host(_)
        | Kind::Len(_)
        | Kind::Any(_)
        | Kind::All(_) => narrow.tests.iter().any(|known| weaker(&test.kind, &known.kind)),
    }
}

/// Whether the first says the same as the second or less.
fn weaker(wide: &Kind, narrow: &Kind) -> bool {
    match (wide, narrow) {
        (Kind::Compares(wide, accepted), Kind::Compares(narrow, narrow_accepted)) => {
            let direction = accepted[0];
            direction == narrow_accepted[0]
                && match narrow.cmp(wide) {
                    Ordering::Equal => {
                        accepted.contains(&Ordering::Equal) || !narrow_accepted.contains(&Ordering::Equal)
                    }
                    order => order == direction,
                }
        }
        (Kind::StartsWith(wide), Kind::StartsWith(narrow)) => narrow.starts_with(&**wide),
        (Kind::EndsWith(wide), Kind::EndsWith(narrow)) => narrow.ends_with(&**wide),
        (Kind::Under(wide), Kind::Under(narrow)) => {
            narrow.iter().all(|narrow| wide.iter().any(|wide| wide.covers(narrow)))
        }
        (Kind::Host(wide), Kind::Host(narrow)) => {
            narrow.iter().all(|narrow| wide.iter().any(|wide| wide.covers(narrow)))
        }
        (Kind::Len(wide), Kind::Len(narrow))
        | (Kind::Any(wide), Kind::Any(narrow) | Kind::All(narrow))
        | (Kind::All(wide), Kind::All(narrow)) => wide.covers(narrow),
        _ => false,
    }
}
