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
    /// Functions with bodies.
    pub(super) functions: Vec<Function>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) line: usize,
    /// From the word `fn` to the closing brace.
    pub(super) lines: usize,
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
        if name == "fn" {
            self.functions.extend(function(tokens, at));
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
    let body = tokens[at..].iter().find(|token| is_punct(Some(token), ';') || is_braces(token))?;
    let TokenTree::Group(body) = body else { return None };
    let start = line(&tokens[at]);
    Some(Function { name: name.to_string(), line: start, lines: body.span_close().end().line - start + 1 })
}

fn follows_colons(tokens: &[TokenTree], at: usize) -> bool {
    at >= 2 && is_punct(tokens.get(at - 1), ':') && is_punct(tokens.get(at - 2), ':')
}

fn is_punct(token: Option<&TokenTree>, wanted: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == wanted)
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

#[cfg(test)]
mod tests;
