//! JSON pointers (RFC 6901) into the arguments of a call and the attributes of a context.

use std::fmt;

use super::node::{Node, Opened, Unreadable};

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pointer {
    tokens: Vec<Box<str>>,
}

impl Pointer {
    /// Reads a pointer. Nothing if it is not one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { tokens: Vec::new() });
        }
        let tokens = text.strip_prefix('/')?.split('/').map(unescape).collect::<Option<_>>()?;
        Some(Self { tokens })
    }

    /// The member of this name, whatever letters it has.
    pub(crate) fn member(name: &str) -> Self {
        Self { tokens: vec![name.into()] }
    }

    /// The first name on the way, if it leads anywhere.
    pub(crate) fn first(&self) -> Option<&str> {
        self.tokens.first().map(|token| &**token)
    }

    /// The name that it leads to, if it is one step.
    pub(crate) fn only(&self) -> Option<&str> {
        match &*self.tokens {
            [name] => Some(name),
            _ => None,
        }
    }

    /// The value there. Nothing when there is no such place.
    pub(crate) fn find<'n, 'a>(&self, root: &'n Node<'a>) -> Result<Option<&'n Node<'a>>, Unreadable> {
        let mut node = root;
        for token in &self.tokens {
            let inner = match node.open()? {
                Opened::Map(members) => {
                    members.binary_search_by(|(name, _)| (**name).cmp(token)).ok().map(|place| &members[place].1)
                }
                Opened::List(items) => index(token).and_then(|place| items.get(place)),
                Opened::Null | Opened::Bool(_) | Opened::Number(_) | Opened::Text(_) => None,
            };
            match inner {
                Some(inner) => node = inner,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

fn unescape(token: &str) -> Option<Box<str>> {
    let mut plain = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(char) = chars.next() {
        plain.push(match char {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain.into())
}

/// An index has no zeros in front and no sign.
fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if canonical && digits { token.parse().ok() } else { None }
}
