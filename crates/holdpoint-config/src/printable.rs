//! Text from models, tools and files, made safe to print: characters that would move the cursor, change the writing
//! direction or stay invisible are shown as their escape.

/// The most characters of an [`excerpt`].
const MAX_EXCERPT_CHARS: usize = 64;

/// One line: line breaks are escaped too.
pub fn line(text: &str) -> String {
    escaped(text.chars(), |_| false)
}

/// Several lines; line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    escaped(text.chars(), |char| matches!(char, '\n' | '\t'))
}

/// The beginning of a name or a word, for messages.
pub fn excerpt(text: &str) -> String {
    escaped(text.chars().take(MAX_EXCERPT_CHARS), |_| false)
}

fn escaped(chars: impl Iterator<Item = char>, plain: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for char in chars {
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
