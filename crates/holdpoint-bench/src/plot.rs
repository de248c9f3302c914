//! Draws results against their bounds: how much of what is allowed is used.

use std::fmt::Write;

use serde_json::Value;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 330.0;
const ROW: f64 = 34.0;
const SCALE: f64 = 330.0;

/// What is drawn: bench, field, its bound, and what it is called.
const ROWS: [(&str, &str, &str, &str); 4] = [
    ("turn", "cpu_us_per_turn", "cpu_us_per_turn_max", "one turn with one tool, µs of CPU"),
    ("continuation", "time_ratio", "time_ratio_max", "signed dump and load, times plain serde_json"),
    ("continuation", "size_ratio", "size_ratio_max", "its size, times the plain messages"),
    ("memory", "beyond_messages", "beyond_messages_max", "a paused run, bytes beyond its messages"),
];

/// An SVG of JSON lines; of several lines of a bench the last one counts.
pub(crate) fn draw(lines: &str) -> String {
    let results: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let height = ROW * (ROWS.len() as f64 + 1.5);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (row, (bench, field, bound, title)) in ROWS.iter().enumerate() {
        let found = results.iter().rev().find(|result| result["bench"] == *bench);
        let number = |name: &str| found.and_then(|result| result[name].as_f64());
        if let (Some(value), Some(bound)) = (number(field), number(bound)) {
            let y = ROW * (row as f64 + 0.6);
            let share = (value / bound * SCALE).min(SCALE);
            let _ = write!(
                svg,
                "<text x=\"{x}\" y=\"{base}\" text-anchor=\"end\" fill=\"#222222\">{title}</text>\n\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{SCALE}\" height=\"20\" fill=\"#e6e9ee\"/>\n\
                 <rect x=\"{LEFT}\" y=\"{y}\" width=\"{share:.1}\" height=\"20\" fill=\"#2f6f4f\"/>\n\
                 <text x=\"{label}\" y=\"{base}\" fill=\"#ffffff\">{value:.2} of {bound}</text>\n",
                x = LEFT - 10.0,
                base = y + 15.0,
                label = LEFT + 8.0,
            );
        }
    }
    let y = ROW * (ROWS.len() as f64 + 1.0);
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{y}\" fill=\"#666666\">grey: what is allowed; less is better</text>\n</svg>\n"
    );
    svg
}
