//! URLs with places for arguments.

#[cfg(test)]
mod tests;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// The longest URL that is sent.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

/// All but what a URL never changes.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A URL whose path and query may hold `{argument}`. Scheme, host and port are fixed: no argument can change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlTemplate {
    pieces: Vec<Piece>,
    /// With `x` for every argument.
    example: Url,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Argument { name: String, place: Place },
}

/// Where in the URL an argument stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query,
}

/// Why an argument does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FillError {
    /// There is no value, or none that can be a text.
    Missing(String),
    /// A value that would change the path around it.
    Unfit(String),
    /// Above [`MAX_URL_BYTES`].
    TooLong,
}

impl UrlTemplate {
    /// Reads a template. The error is a problem to be read after the key.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_URL_BYTES {
            return Err(format!("is longer than {MAX_URL_BYTES} bytes"));
        }
        // The parser would drop some of these silently, and read others in its own way.
        if text.contains(|letter: char| letter.is_control() || letter.is_whitespace() || letter == '\\') {
            return Err("holds a space, a control character or a backslash".to_owned());
        }
        let authority_end = authority_end(text)?;
        let (fixed, rest) = text.split_at(authority_end);
        if fixed.contains(['{', '}']) {
            return Err("may have arguments in its path and its query only".to_owned());
        }
        let mut pieces = vec![Piece::Literal(fixed.to_owned())];
        pieces.extend(pieces_of(rest)?);
        let example = assemble(&pieces, |_| Some("x".to_owned()));
        let example = example.ok().and_then(|text| Url::parse(&text).ok()).ok_or("is not a URL")?;
        check(&example, fixed)?;
        Ok(Self { pieces, example })
    }

    /// The URL with `x` for every argument: its scheme, host and port are those of every filled one.
    pub(super) fn example(&self) -> &Url {
        &self.example
    }

    /// Whether the URL itself says what this key of the query is.
    pub(super) fn fixes(&self, key: &str) -> bool {
        self.example.query_pairs().any(|(name, _)| name == key)
    }

    /// The names of the arguments, in order.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Literal(_) => None,
            Piece::Argument { name, .. } => Some(name.as_str()),
        })
    }

    /// The URL with these values.
    pub(super) fn fill(&self, value: impl Fn(&str) -> Option<String>) -> Result<Url, FillError> {
        let text = assemble(&self.pieces, value)?;
        if text.len() > MAX_URL_BYTES {
            return Err(FillError::TooLong);
        }
        let url = Url::parse(&text).map_err(|_| FillError::Unfit(String::new()))?;
        // Values are escaped, so that this cannot be; if it ever is, nothing is sent.
        let same_parts = segments(&url) == segments(&self.example) && url.fragment().is_none();
        if url.origin() == self.example.origin() && same_parts { Ok(url) } else { Err(FillError::Unfit(String::new())) }
    }
}

fn segments(url: &Url) -> usize {
    url.path_segments().map_or(0, Iterator::count)
}

/// Where the path, the query or the fragment begins.
fn authority_end(text: &str) -> Result<usize, String> {
    let (scheme, rest) = text.split_once("://").ok_or("must begin with `http://` or `https://`")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err("must begin with `http://` or `https://`".to_owned());
    }
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    if authority == 0 {
        return Err("has no host".to_owned());
    }
    Ok(scheme.len() + 3 + authority)
}

fn pieces_of(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut place = Place::Path;
    while let Some(open) = rest.find(['{', '}']) {
        let (literal, after) = rest.split_at(open);
        if literal.contains('?') {
            place = Place::Query;
        }
        let name = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        let Some((name, after)) = name.filter(|(name, _)| !name.is_empty() && !name.contains('{')) else {
            return Err("has a `{` or `}` that is not part of an argument such as `{order}`".to_owned());
        };
        pieces.push(Piece::Literal(literal.to_owned()));
        pieces.push(Piece::Argument { name: name.to_owned(), place });
        rest = after;
    }
    pieces.push(Piece::Literal(rest.to_owned()));
    Ok(pieces)
}

fn check(url: &Url, fixed: &str) -> Result<(), String> {
    if !url.username().is_empty() || url.password().is_some() || fixed.contains('@') {
        return Err("holds a user or a password\nhint: use `headers` with a variable".to_owned());
    }
    if url.fragment().is_some() {
        return Err("has a fragment, which is never sent".to_owned());
    }
    // An escaped host is read in different ways by different programs.
    if fixed.contains('%') {
        return Err("has a `%` in its host".to_owned());
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("has no host".to_owned());
    }
    if url.port() == Some(0) {
        return Err("has port 0".to_owned());
    }
    Ok(())
}

fn assemble(pieces: &[Piece], value: impl Fn(&str) -> Option<String>) -> Result<String, FillError> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Argument { name, place } => {
                let value = value(name).ok_or_else(|| FillError::Missing(name.clone()))?;
                if *place == Place::Path && !fits_path(&value) {
                    return Err(FillError::Unfit(name.clone()));
                }
                text.extend(utf8_percent_encode(&value, ESCAPED));
            }
        }
    }
    let path = text.split(['?', '#']).next().unwrap_or_default();
    // Two values could make together what neither is alone.
    let climbs = path.split('/').any(|segment| matches!(segment, "." | ".."));
    let last = || pieces.iter().rev().find_map(argument).unwrap_or_default().to_owned();
    if climbs { Err(FillError::Unfit(last())) } else { Ok(text) }
}

fn argument(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Literal(_) => None,
        Piece::Argument { name, .. } => Some(name),
    }
}

/// Many servers take an escaped slash for a slash, so that a value with one could leave its place in the path.
fn fits_path(value: &str) -> bool {
    !value.is_empty() && !value.contains(|letter: char| letter.is_control() || matches!(letter, '/' | '\\'))
}
