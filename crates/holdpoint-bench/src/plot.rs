//! Draws results against their bounds: how much of what is allowed is used, and how far what is asked for is reached.

use std::fmt::Write;

use serde_json::Value;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 380.0;
const ROW: f64 = 34.0;
const SCALE: f64 = 330.0;

/// What a bound means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    /// Less is better.
    AtMost,
    /// More is better.
    AtLeast,
}

/// Something to draw: of several lines that match the last one counts.
struct Row {
    bench: &'static str,
    /// Fields that a line must have.
    only: &'static [(&'static str, &'static str)],
    field: &'static str,
    bound: &'static str,
    title: &'static str,
}

/// Rows that are read the same way.
struct Panel {
    title: &'static str,
    bound: Bound,
    rows: &'static [Row],
}

const fn row(bench: &'static str, [field, bound]: [&'static str; 2], title: &'static str) -> Row {
    Row { bench, only: &[], field, bound, title }
}

impl Row {
    const fn only(self, only: &'static [(&'static str, &'static str)]) -> Self {
        Self { only, ..self }
    }

    fn matches(&self, line: &Value) -> bool {
        let is = |(field, wanted): &(&str, &str)| match &line[*field] {
            Value::String(text) => text == wanted,
            other => format!("{other}") == *wanted,
        };
        line["bench"] == self.bench && self.only.iter().all(is)
    }
}

const RATIO_MIN: [&str; 2] = ["ratio", "ratio_min"];
const RATIO_MAX: [&str; 2] = ["ratio", "ratio_max"];
const STORED: [&str; 2] = ["stored_bytes", "stored_bytes_max"];

const PANELS: [Panel; 3] = [
    Panel {
        title: "in memory — grey: what is allowed; less is better",
        bound: Bound::AtMost,
        rows: &[
            row("turn", ["cpu_us_per_turn", "cpu_us_per_turn_max"], "one turn with one tool, µs of CPU"),
            row("continuation", ["time_ratio", "time_ratio_max"], "signed dump and load, times plain serde_json"),
            row("continuation", ["size_ratio", "size_ratio_max"], "its size, times the plain messages"),
            row("memory", ["beyond_messages", "beyond_messages_max"], "a paused run, bytes beyond its messages"),
        ],
    },
    Panel {
        title: "durable — line: what is asked for; more is better",
        bound: Bound::AtLeast,
        rows: &[
            row("d_durable", RATIO_MIN, "PostgreSQL, 16 runs at once, times pgbench")
                .only(&[("store", "postgres"), ("conc", "16")]),
            row("d_durable", RATIO_MIN, "PostgreSQL, 64 runs at once, times pgbench")
                .only(&[("store", "postgres"), ("conc", "64")]),
            row("d_durable", RATIO_MIN, "SQLite, 16 runs at once, times bare commits")
                .only(&[("store", "sqlite"), ("conc", "16")]),
            row("d_beside", RATIO_MIN, "PostgreSQL, 16 cycles at once, times LangGraph").only(&[
                ("store", "postgres"),
                ("conc", "16"),
                ("beside", "langgraph"),
            ]),
            row("d_beside", RATIO_MIN, "SQLite, 16 cycles at once, times LangGraph").only(&[
                ("store", "sqlite"),
                ("conc", "16"),
                ("beside", "langgraph"),
            ]),
        ],
    },
    Panel {
        title: "durable — grey: what is allowed; less is better",
        bound: Bound::AtMost,
        rows: &[
            row("d_growth50", STORED, "PostgreSQL, bytes of a run of 50 turns")
                .only(&[("store", "postgres"), ("variant", "results_of_500_bytes")]),
            row("d_growth50", STORED, "SQLite, bytes of a run of 50 turns")
                .only(&[("store", "sqlite"), ("variant", "results_of_500_bytes")]),
            row("d_lease", RATIO_MAX, "PostgreSQL, a lease among a million tasks, times 1,000")
                .only(&[("store", "postgres"), ("worker", "common")]),
            row("d_lease", RATIO_MAX, "SQLite, a lease among a million tasks, times 1,000")
                .only(&[("store", "sqlite"), ("worker", "common")]),
        ],
    },
];

/// An SVG of JSON lines. Panels that have nothing to show are left out.
pub(crate) fn draw(lines: &str) -> String {
    let results: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut body = String::new();
    let mut y = ROW * 0.6;
    for panel in &PANELS {
        let found: Vec<(&Row, f64, f64)> = panel.rows.iter().filter_map(|row| numbers(row, &results)).collect();
        if found.is_empty() {
            continue;
        }
        for (row, value, bound) in found {
            body.push_str(&bar(y, row.title, panel.bound, value, bound));
            y += ROW;
        }
        let base = y + ROW * 0.4;
        let _ = writeln!(body, "<text x=\"{LEFT}\" y=\"{base:.1}\" fill=\"#666666\">{}</text>", panel.title);
        y += ROW * 1.2;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {y:.1}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{y:.1}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

fn numbers<'a>(row: &'a Row, results: &[Value]) -> Option<(&'a Row, f64, f64)> {
    let line = results.iter().rev().find(|line| row.matches(line))?;
    Some((row, line[row.field].as_f64()?, line[row.bound].as_f64()?))
}

/// One bar in a grey one. At most: the grey one is the bound. At least: the longer of both fills it, a line is the bound.
fn bar(y: f64, title: &str, kind: Bound, value: f64, bound: f64) -> String {
    let (full, word) = match kind {
        Bound::AtMost => (bound, "of"),
        Bound::AtLeast => (value.max(bound), "of at least"),
    };
    let share = (value / full * SCALE).min(SCALE);
    let (number, bound_text) = (short(value), short(bound));
    let mut drawn = format!(
        "<text x=\"{x}\" y=\"{base:.1}\" text-anchor=\"end\" fill=\"#222222\">{title}</text>\n\
         <rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{SCALE}\" height=\"20\" fill=\"#e6e9ee\"/>\n\
         <rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{share:.1}\" height=\"20\" fill=\"{fill}\"/>\n",
        x = LEFT - 10.0,
        base = y + 15.0,
        fill = if holds(kind, value, bound) { "#2f6f4f" } else { "#a33a2c" },
    );
    if kind == Bound::AtLeast {
        let at = LEFT + bound / full * SCALE;
        let _ = writeln!(
            drawn,
            "<rect x=\"{at:.1}\" y=\"{top:.1}\" width=\"2\" height=\"26\" fill=\"#222222\"/>",
            top = y - 3.0
        );
    }
    // A bar that is too short for its text has it beside.
    let (x, fill) = if share > 150.0 { (LEFT + 8.0, "#ffffff") } else { (LEFT + share + 8.0, "#222222") };
    let _ = writeln!(
        drawn,
        "<text x=\"{x:.1}\" y=\"{base:.1}\" fill=\"{fill}\">{number} {word} {bound_text}</text>",
        base = y + 15.0
    );
    drawn
}

fn holds(kind: Bound, value: f64, bound: f64) -> bool {
    match kind {
        Bound::AtMost => value <= bound,
        Bound::AtLeast => value >= bound,
    }
}

/// A number as people read it.
fn short(number: f64) -> String {
    if number >= 10_000.0 {
        format!("{:.0}k", number / 1_000.0)
    } else if number >= 100.0 {
        format!("{number:.0}")
    } else {
        let text = format!("{number:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests;
