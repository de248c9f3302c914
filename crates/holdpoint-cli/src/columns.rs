//! Rows in columns, for people.

/// Aligns the columns of these rows under their headings. Without rows there is nothing to say.
pub(crate) fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings.get(column).map_or(0, |heading| heading.chars().count())]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let headings = headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>();
    let mut text = String::new();
    for row in std::iter::once(&headings).chain(rows) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
