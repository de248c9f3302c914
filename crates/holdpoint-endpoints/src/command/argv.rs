//! From the arguments of a call to the arguments of a program. No shell ever sees them.

#[cfg(test)]
mod tests;

use holdpoint_tools::ToolError;

use crate::arguments::{Named, scalar, scalars};

/// The longest single argument of a program.
const MAX_ARGUMENT_BYTES: usize = 100_000;
/// All arguments of a program together: what every system takes.
const MAX_TOTAL_BYTES: usize = 200_000;
/// The most arguments of a program.
const MAX_ELEMENTS: usize = 4096;

/// What follows it is never an option.
const END_OF_OPTIONS: &str = "--";

/// The arguments of a program, with `{argument}` where values go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArgvTemplate {
    elements: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Element {
    pieces: Vec<Piece>,
    guard: Guard,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Argument(String),
}

/// Whether a value may begin with `-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// It could be taken for an option.
    NoDash,
    /// It comes after `--`, or after something that is fixed.
    Free,
}

impl ArgvTemplate {
    /// Reads the elements after the program. The error is a problem to be read after the key.
    pub(super) fn parse(elements: &[String]) -> Result<Self, String> {
        let mut after_end = false;
        let mut parsed = Vec::new();
        for element in elements {
            if element.contains('\0') {
                return Err("holds a NUL".to_owned());
            }
            let pieces = pieces_of(element)?;
            let begins_with_value = matches!(pieces.first(), Some(Piece::Argument(_)));
            let guard = if begins_with_value && !after_end { Guard::NoDash } else { Guard::Free };
            // An option after it: the `--` was meant for a program that starts this one.
            after_end = element == END_OF_OPTIONS || (after_end && !element.starts_with('-'));
            parsed.push(Element { pieces, guard });
        }
        Ok(Self { elements: parsed })
    }

    /// The names of the arguments that it uses.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().flat_map(|element| &element.pieces).filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Argument(name) => Some(name.as_str()),
        })
    }

    /// The arguments with these values: each value is one element or a part of one, never two. An element that is only
    /// `{list}` becomes one element for each value of a list.
    pub(super) fn fill(&self, arguments: &Named) -> Result<Vec<String>, ToolError> {
        let mut filled = Vec::new();
        for element in &self.elements {
            match element.pieces.as_slice() {
                [Piece::Argument(name)] => {
                    let values = arguments.find(name).and_then(scalars).ok_or_else(|| wrong_type(name))?;
                    for value in values {
                        filled.push(element.guarded(name, value)?);
                    }
                }
                pieces => filled.push(element.joined(pieces, arguments)?),
            }
        }
        let total: usize = filled.iter().map(String::len).sum();
        if filled.len() > MAX_ELEMENTS || total > MAX_TOTAL_BYTES {
            return Err(ToolError::invalid_arguments("the arguments are too long for a program"));
        }
        Ok(filled)
    }
}

impl Element {
    fn joined(&self, pieces: &[Piece], arguments: &Named) -> Result<String, ToolError> {
        let mut text = String::new();
        let mut last = "";
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Argument(name) => {
                    last = name;
                    text.push_str(&arguments.find(name).and_then(scalar).ok_or_else(|| wrong_type(name))?);
                }
            }
        }
        self.guarded(last, text)
    }

    fn guarded(&self, name: &str, value: String) -> Result<String, ToolError> {
        let problem = |what: &str| Err(ToolError::invalid_arguments(format!("`{name}` {what}")));
        if self.guard == Guard::NoDash && value.starts_with('-') {
            return problem("may not begin with `-`");
        }
        if value.contains('\0') {
            return problem("may not hold a NUL");
        }
        if value.len() > MAX_ARGUMENT_BYTES {
            return problem("is too long");
        }
        Ok(value)
    }
}

fn wrong_type(name: &str) -> ToolError {
    ToolError::invalid_arguments(format!("`{name}` must be a text or a number"))
}

/// `{{` and `}}` stand for the brackets themselves.
fn pieces_of(element: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = element;
    while let Some(at) = rest.find(['{', '}']) {
        literal.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{").or_else(|| rest.strip_prefix("}}")) {
            literal.push_str(&rest[..1]);
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('{').and_then(|after| after.split_once('}'));
        let Some((name, after)) = name.filter(|(name, _)| !name.is_empty() && !name.contains('{')) else {
            return Err("has a `{` or `}` that is not part of an argument such as `{file}`\nhint: write `{{` and `}}` for the brackets themselves".into());
        };
        if !literal.is_empty() {
            pieces.push(Piece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(Piece::Argument(name.to_owned()));
        rest = after;
    }
    literal.push_str(rest);
    if !literal.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}
