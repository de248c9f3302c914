//! Text of models and tools, shown so that nothing in it can deceive: what would move the cursor, turn the direction of
//! writing or not be seen at all is shown as its number.

/// One line: line breaks are shown too.
pub(crate) fn line(text: &str) -> String {
    shown(text, |_| false)
}

/// Several lines.
pub(crate) fn lines(text: &str) -> String {
    shown(text, |char| matches!(char, '\n' | '\t'))
}

fn shown(text: &str, plain: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if !plain(char) && is_deceptive(char) {
            out.extend(char.escape_unicode());
        } else {
            out.push(char);
        }
    }
    out
}

fn is_deceptive(char: char) -> bool {
    char.is_control()
        || matches!(char,
            // Soft hyphen, the Arabic letter mark, invisible fillers.
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
            // Zero width, directions, invisible operators, line and paragraph separators.
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            // Variation selectors, the byte order mark, annotations, tags.
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
