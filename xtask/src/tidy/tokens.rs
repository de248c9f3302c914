//! What the rules need to know of a Rust file, taken from its tokens: strings and comments never count as code.

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};

/// What stands in a file, each with its line.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Every path of at least two parts; those of grouped imports are spelled out.
    pub(super) paths: Vec<(Vec<String>, usize)>,
    /// Names of macros that are called.
    pub(super) macros: Vec<(String, usize)>,
    /// Every identifier and keyword.
    pub(super) words: Vec<(String, usize)>,
    /// First words of attributes.
    pub(super) attributes: Vec<(String, usize)>,
    /// Functions that have a name.
    pub(super) functions: Vec<Function>,
    /// Traits.
    pub(super) traits: Vec<Trait>,
}

/// A function that has a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    /// From the word `fn` to the closing brace. One for a declaration without a body.
    pub(super) lines: usize,
    /// The parameters that are tuples, by their place among all parameters.
    pub(super) tuples: Vec<usize>,
}

/// A trait.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trait {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) methods: usize,
}

impl Code {
    pub(super) fn read(text: &str) -> Result<Self, LexError> {
        let mut code = Code::default();
        code.walk(text.parse()?);
        Ok(code)
    }

    fn walk(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(_) => self.word(&tokens, at),
                TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(&tokens, at),
                TokenTree::Group(group) => self.walk(group.stream()),
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
        }
    }

    fn word(&mut self, tokens: &[TokenTree], at: usize) {
        let (name, line) = (tokens[at].to_string(), line(&tokens[at]));
        if is_punct(tokens.get(at + 1), '!') && matches!(tokens.get(at + 2), Some(TokenTree::Group(_))) {
            self.macros.push((name.clone(), line));
        }
        match &*name {
            "fn" => self.functions.extend(function(tokens, at)),
            "trait" => self.traits.extend(trait_of(tokens, at)),
            _ => {}
        }
        if !follows_colons(tokens, at) {
            self.path(tokens, at, &[]);
        }
        self.words.push((name, line));
    }

    /// Reads the path that begins at a token. A group after `::` is as many paths as it has parts.
    fn path(&mut self, tokens: &[TokenTree], mut at: usize, prefix: &[String]) {
        let Some(start) = tokens.get(at).map(line) else { return };
        let mut segments = prefix.to_vec();
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(ident)) => segments.push(ident.to_string()),
                Some(TokenTree::Punct(star)) if star.as_char() == '*' => segments.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    return self.grouped(group, &segments);
                }
                _ => break,
            }
            if !is_punct(tokens.get(at + 1), ':') || !is_punct(tokens.get(at + 2), ':') {
                break;
            }
            at += 3;
        }
        if segments.len() > 1 {
            self.paths.push((segments, start));
        }
    }

    fn grouped(&mut self, group: &Group, prefix: &[String]) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        for part in tokens.split(|token| is_punct(Some(token), ',')) {
            self.path(part, 0, prefix);
        }
    }

    fn attribute(&mut self, tokens: &[TokenTree], at: usize) {
        let inner = usize::from(is_punct(tokens.get(at + 1), '!'));
        let Some(TokenTree::Group(group)) = tokens.get(at + 1 + inner) else { return };
        if let Some(TokenTree::Ident(name)) = group.stream().into_iter().next() {
            self.attributes.push((name.to_string(), line(&tokens[at])));
        }
    }
}

fn function(tokens: &[TokenTree], at: usize) -> Option<Function> {
    // In a type, `fn` has no name.
    let TokenTree::Ident(name) = tokens.get(at + 1)? else { return None };
    let parameters: Vec<TokenTree> = parameters(&tokens[at + 2..])?.stream().into_iter().collect();
    let places = split(&parameters).into_iter().enumerate();
    let tuples = places.filter(|(_, parameter)| is_tuple(parameter)).map(|(place, _)| place).collect();
    let start = line(&tokens[at]);
    let end = tokens[at..].iter().find(|token| is_punct(Some(token), ';') || is_braces(token));
    let lines = match end {
        Some(TokenTree::Group(body)) => body.span_close().end().line - start + 1,
        Some(TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) | None => 1,
    };
    Some(Function { name: name.to_string(), line: start, lines, tuples })
}

fn trait_of(tokens: &[TokenTree], at: usize) -> Option<Trait> {
    let TokenTree::Ident(name) = tokens.get(at + 1)? else { return None };
    let body = tokens[at..].iter().find_map(|token| delimited(token, Delimiter::Brace))?;
    let methods = body.stream().into_iter().filter(|token| is_word(Some(token), "fn")).count();
    Some(Trait { name: name.to_string(), line: line(&tokens[at]), methods })
}

/// The parameters of a function whose name stands before these tokens. Its generic parameters may have parentheses too.
fn parameters(tokens: &[TokenTree]) -> Option<&Group> {
    let outside = outside_generics(tokens);
    outside.into_iter().find_map(|at| delimited(&tokens[at], Delimiter::Parenthesis))
}

/// The parts between commas, without the commas of generic parameters.
fn split(tokens: &[TokenTree]) -> Vec<&[TokenTree]> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for at in outside_generics(tokens) {
        if is_punct(tokens.get(at), ',') {
            parts.push(&tokens[from..at]);
            from = at + 1;
        }
    }
    parts.push(&tokens[from..]);
    parts
}

/// The places of the tokens that are not between angle brackets.
fn outside_generics(tokens: &[TokenTree]) -> Vec<usize> {
    let (mut outside, mut open) = (Vec::new(), 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        let is_arrow = at > 0 && is_punct(tokens.get(at - 1), '-');
        if is_punct(Some(token), '<') {
            open += 1;
        } else if is_punct(Some(token), '>') && !is_arrow {
            open = open.saturating_sub(1);
        } else if open == 0 {
            outside.push(at);
        }
    }
    outside
}

/// Whether a parameter is taken apart as a tuple, or is one by its type.
fn is_tuple(parameter: &[TokenTree]) -> bool {
    let colon = (0..parameter.len()).find(|at| {
        let is_path = is_punct(parameter.get(at + 1), ':') || (*at > 0 && is_punct(parameter.get(at - 1), ':'));
        is_punct(parameter.get(*at), ':') && !is_path
    });
    let Some(colon) = colon else { return false };
    [&parameter[..colon], &parameter[colon + 1..]].into_iter().any(begins_with_tuple)
}

fn begins_with_tuple(tokens: &[TokenTree]) -> bool {
    let mut at = 0;
    loop {
        match tokens.get(at) {
            // An attribute, or a lifetime.
            Some(TokenTree::Punct(mark)) if matches!(mark.as_char(), '#' | '\'') => at += 2,
            Some(TokenTree::Punct(mark)) if mark.as_char() == '&' => at += 1,
            token if is_word(token, "mut") => at += 1,
            Some(token) => {
                let Some(group) = delimited(token, Delimiter::Parenthesis) else { return false };
                return group.stream().into_iter().any(|token| is_punct(Some(&token), ','));
            }
            None => return false,
        }
    }
}

fn delimited(token: &TokenTree, wanted: Delimiter) -> Option<&Group> {
    match token {
        TokenTree::Group(group) if group.delimiter() == wanted => Some(group),
        TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    }
}

fn is_word(token: Option<&TokenTree>, wanted: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == wanted)
}

fn follows_colons(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_punct(tokens.get(at - 1), ':') && is_punct(tokens.get(at - 2), ':')
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_braces(token: &TokenTree) -> bool {
    delimited(token, Delimiter::Brace).is_some()
}

fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests;
