//! Suggestions for misspelt names.

/// Longer names are not compared: nobody misspells one that long.
const MAX_COMPARED_BYTES: usize = 128;

/// The known name closest to `written`. A third of its characters may differ, and one always.
pub fn nearest<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if written.len() > MAX_COMPARED_BYTES {
        return None;
    }
    // Of two names that are equally near, the one of the same length was meant.
    let distances = known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(written, name), name.len().abs_diff(written.len()), name));
    let (distance, _, name) = distances.min()?;
    let longest = written.chars().count().max(name.chars().count());
    (distance <= (longest / 3).max(1)).then_some(name)
}

/// The hint for an unknown name: the nearest known one, those that continue it, or all of them.
pub fn suggestion<'k>(written: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let quoted = |names: &[&str], separator: &str| names.join(&format!("`{separator}`"));
    if let Some(name) = nearest(written, known.iter().copied()) {
        return format!("did you mean `{name}`?");
    }
    let longer: Vec<&str> = known.iter().copied().filter(|name| name.starts_with(&format!("{written}_"))).collect();
    match (longer.is_empty(), known.is_empty()) {
        (false, _) => format!("did you mean `{}`?", quoted(&longer, " or ")),
        (true, false) => format!("known are `{}`", quoted(&known, ", ")),
        (true, true) => "none is known".to_owned(),
    }
}
