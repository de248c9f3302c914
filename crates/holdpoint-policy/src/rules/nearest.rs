//! Which of the known words was meant.

/// The known word that is nearest to what was written, if one is near.
pub(crate) fn nearest<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let near = known.iter().map(|word| (distance(written, word), *word)).min()?;
    // A third of the letters may be wrong, and one always.
    let allowed = (written.len().max(near.1.len()) / 3).max(1);
    (near.0 <= allowed).then_some(near.1)
}

/// The end of a message about an unknown word.
pub(crate) fn did_you_mean(written: &str, known: &[&'static str]) -> String {
    match nearest(written, known) {
        Some(word) => format!(", did you mean `{word}`?"),
        None => format!(", known are `{}`", known.join("`, `")),
    }
}

/// How many letters must be put in, taken out or changed.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, left) in from.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, right) in to.bytes().enumerate() {
            let changed = diagonal + usize::from(left != right);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}
