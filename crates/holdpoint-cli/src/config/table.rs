//! Reads tables key by key, and says where a value does not fit.

use std::ops::{Range, RangeInclusive};

use holdpoint_endpoints::nearest;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, ValueDeserializer};

use super::source::{ConfigError, Located, Source};

/// The most words that a hint lists.
const LISTED_MAX: usize = 20;

pub(crate) type Read<T> = Result<T, ConfigError>;

/// A table of the file. Keys are checked when it is made.
pub(crate) struct Table<'s> {
    source: &'s Source,
    /// As it is written in a header, such as `agents.support`.
    name: String,
    span: Range<usize>,
    entries: Vec<(Spanned<String>, Spanned<DeValue<'s>>)>,
}

impl<'s> Table<'s> {
    /// The whole file.
    pub(crate) fn root(source: &'s Source, known: &[&str]) -> Read<Self> {
        let tree = DeTable::parse(&source.text).map_err(|error| source.syntax(&error))?;
        let span = tree.span();
        let table = Self::of(source, String::new(), (span, tree.into_inner()));
        table.check_keys(known)?;
        Ok(table)
    }

    fn of(source: &'s Source, name: String, (span, table): (Range<usize>, DeTable<'s>)) -> Self {
        let entry = |(key, value): (Spanned<_>, _)| {
            let at = key.span();
            let text: String = AsRef::<str>::as_ref(key.get_ref()).to_owned();
            (Spanned::new(at, text), value)
        };
        let mut entries: Vec<_> = table.into_iter().map(entry).collect();
        // The parser gives them in the order of the alphabet.
        entries.sort_by_key(|(key, _)| key.span().start);
        Self { source, name, span, entries }
    }

    /// As it is written in a header.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn source(&self) -> &'s Source {
        self.source
    }

    /// Where it is.
    pub(crate) fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// Where the value of a key is, or the table if it is not there.
    pub(crate) fn span_of(&self, key: &str) -> Range<usize> {
        let entry = self.entries.iter().find(|(known, _)| known.get_ref() == key);
        entry.map_or_else(|| self.span.clone(), |(_, value)| value.span())
    }

    /// Refuses the first key that is not known.
    pub(crate) fn check_keys(&self, known: &[&str]) -> Read<()> {
        let Some((key, _)) = self.entries.iter().find(|(key, _)| !known.contains(&key.get_ref().as_str())) else {
            return Ok(());
        };
        let shown: String = key.get_ref().chars().take(64).flat_map(char::escape_debug).collect();
        let message = match self.name.as_str() {
            "" => format!("unknown key `{shown}`"),
            name => format!("unknown key `{shown}` in `{name}`"),
        };
        Err(self.source.wrong(&key.span(), message).hint(meant(key.get_ref(), known)))
    }

    fn take(&mut self, key: &str) -> Option<Spanned<DeValue<'s>>> {
        let at = self.entries.iter().position(|(known, _)| known.get_ref() == key)?;
        Some(self.entries.remove(at).1)
    }

    /// Whether a key is there and was not read yet.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _)| known.get_ref() == key)
    }

    fn misfit<T>(&self, key: &str, wanted: &str, found: &Spanned<DeValue<'_>>) -> Read<T> {
        let message = format!("`{key}` must be {wanted}, but is {}", kind(found.get_ref()));
        Err(self.source.wrong(&found.span(), message))
    }

    /// A text.
    pub(crate) fn text(&mut self, key: &str) -> Read<Option<Located<String>>> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => self.text_of(key, &value).map(Some),
        }
    }

    fn text_of(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Read<Located<String>> {
        match value.get_ref() {
            DeValue::String(text) => Ok(Located { value: text.to_string(), span: value.span() }),
            _ => self.misfit(key, "a text", value),
        }
    }

    /// A text that must be there and not be empty.
    pub(crate) fn required_text(&mut self, key: &str) -> Read<Located<String>> {
        let missing = || self.source.wrong(&self.span, format!("`{}` needs `{key}`", self.name));
        let text = match self.entries.iter().position(|(known, _)| known.get_ref() == key) {
            None => return Err(missing()),
            Some(at) => self.entries.remove(at).1,
        };
        let text = self.text_of(key, &text)?;
        if text.value.trim().is_empty() {
            return Err(self.source.wrong(&text.span, format!("`{key}` is empty")));
        }
        Ok(text)
    }

    /// `true` or `false`.
    pub(crate) fn flag(&mut self, key: &str) -> Read<Option<bool>> {
        match self.take(key) {
            None => Ok(None),
            Some(value) => match value.get_ref() {
                DeValue::Boolean(flag) => Ok(Some(*flag)),
                _ => self.misfit(key, "`true` or `false`", &value),
            },
        }
    }

    /// A whole number within bounds.
    pub(crate) fn whole(&mut self, key: &str, bounds: RangeInclusive<u64>) -> Read<Option<u64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let DeValue::Integer(number) = value.get_ref() else { return self.misfit(key, "a whole number", &value) };
        let parsed = i128::from_str_radix(&number.as_str().replace('_', ""), number.radix());
        let within = parsed.ok().and_then(|number| u64::try_from(number).ok()).filter(|found| bounds.contains(found));
        within.map(Some).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            let message = format!("`{key}` is {}, and must be between {least} and {most}", number.as_str());
            self.source.wrong(&value.span(), message)
        })
    }

    /// A number, whole or not, within bounds.
    pub(crate) fn number(&mut self, key: &str, bounds: RangeInclusive<f64>) -> Read<Option<f64>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            _ => return self.misfit(key, "a number", &value),
        };
        let parsed = text.replace('_', "").parse::<f64>().ok().filter(|found| bounds.contains(found));
        parsed.map(Some).ok_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            self.source.wrong(&value.span(), format!("`{key}` is {text}, and must be between {least} and {most}"))
        })
    }

    /// One of some words.
    pub(crate) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Read<Option<T>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        self.word_of(key, &text, words).map(Some)
    }

    fn word_of<T: Copy>(&self, key: &str, text: &Located<String>, words: &[(&str, T)]) -> Read<T> {
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text.value) {
            return Ok(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let shown: String = text.value.chars().take(64).flat_map(char::escape_debug).collect();
        let wrong = self.source.wrong(&text.span, format!("`{key}` cannot be `{shown}`"));
        Err(wrong.hint(meant(&text.value, &known)))
    }

    /// Refuses a text that is not one of some words; it is read again later.
    pub(crate) fn check_word(&self, key: &str, words: &[&str]) -> Read<()> {
        let Some((_, value)) = self.entries.iter().find(|(name, _)| name.get_ref() == key) else { return Ok(()) };
        let words: Vec<(&str, ())> = words.iter().map(|word| (*word, ())).collect();
        self.word_of(key, &self.text_of(key, value)?, &words)
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &str) -> Read<Option<Vec<Located<String>>>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let DeValue::Array(items) = value.get_ref() else { return self.misfit(key, "a list of texts", &value) };
        items.iter().map(|item| self.text_of(key, item)).collect::<Read<Vec<_>>>().map(Some)
    }

    /// A list of words.
    pub(crate) fn words<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Read<Option<Vec<T>>> {
        let Some(texts) = self.texts(key)? else { return Ok(None) };
        texts.iter().map(|text| self.word_of(key, text, words)).collect::<Read<Vec<_>>>().map(Some)
    }

    /// A table inside, with its known keys.
    pub(crate) fn table(&mut self, key: &str, known: &[&str]) -> Read<Option<Table<'s>>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let table = self.table_of(self.inside(key), key, value)?;
        table.check_keys(known)?;
        Ok(Some(table))
    }

    /// A table inside that is read again later.
    pub(crate) fn peek_table(&self, key: &str, known: &[&str]) -> Read<Option<Table<'s>>> {
        let Some((_, value)) = self.entries.iter().find(|(name, _)| name.get_ref() == key) else { return Ok(None) };
        let table = self.table_of(self.inside(key), key, value.clone())?;
        table.check_keys(known)?;
        Ok(Some(table))
    }

    /// The tables of a list, such as `[[tokens]]`.
    pub(crate) fn tables(&mut self, key: &str) -> Read<Vec<Table<'s>>> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let span = value.span();
        match value.into_inner() {
            DeValue::Array(items) => items.into_iter().map(|item| self.table_of(self.inside(key), key, item)).collect(),
            other => self.misfit(
                key,
                &format!("a list of tables, as `[[{}]]`", self.inside(key)),
                &Spanned::new(span, other),
            ),
        }
    }

    /// The tables of a table, each with the name that it has there, such as `[agents.NAME]`.
    pub(crate) fn named_tables(&mut self, key: &str) -> Read<Vec<(Located<String>, Table<'s>)>> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let outer = self.table_of(self.inside(key), key, value)?;
        let Table { entries, name: path, .. } = outer;
        let mut tables = Vec::new();
        for (name, value) in entries {
            let (span, name) = (name.span(), name.into_inner());
            let table = self.table_of(format!("{path}.{name}"), &name, value)?;
            tables.push((Located { value: name, span }, table));
        }
        Ok(tables)
    }

    fn table_of(&self, name: String, key: &str, value: Spanned<DeValue<'s>>) -> Read<Table<'s>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok(Self::of(self.source, name, (span, table))),
            other => self.misfit(key, "a table", &Spanned::new(span, other)),
        }
    }

    fn inside(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// The keys that are there, in the order of the file, with their places.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Located<&str>> {
        self.entries.iter().map(|(key, _)| Located { value: key.get_ref().as_str(), span: key.span() })
    }

    /// All of it, by a reader of its own.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Read<T> {
        let table: DeTable<'_> = self.entries().collect();
        T::deserialize(self.deserializer(table)).map_err(|error| match error.span() {
            Some(_) => self.source.syntax(&error),
            None => self.blamed::<T>(&error),
        })
    }

    fn deserializer(&self, table: DeTable<'s>) -> ValueDeserializer<'s> {
        ValueDeserializer::from(Spanned::new(self.span.clone(), DeValue::Table(table)))
    }

    /// The place of a mistake that its reader has no place for: the one key without which the mistake is gone.
    fn blamed<T: DeserializeOwned>(&self, error: &toml::de::Error) -> ConfigError {
        let without = |left_out: &str| {
            let table = self.entries().filter(|(key, _)| AsRef::<str>::as_ref(key.get_ref()) != left_out).collect();
            T::deserialize(self.deserializer(table))
        };
        let names_it = |key: &str| error.message().contains(&format!("`{key}` "));
        let gone = |key: &str| match without(key) {
            Ok(_) => true,
            Err(other) => other.message() != error.message() && !other.message().starts_with("missing field"),
        };
        let told = self.source.syntax(error);
        let blamed = self.entries.iter().map(|(key, value)| (key.get_ref().as_str(), value.span()));
        match blamed.clone().find(|(key, _)| names_it(key)).or_else(|| blamed.clone().find(|(key, _)| gone(key))) {
            Some((key, span)) if names_it(key) => ConfigError { place: Some(self.source.place(span.start)), ..told },
            Some((key, span)) => {
                let message = format!("`{key}` cannot be used: {}", told.message);
                ConfigError { place: Some(self.source.place(span.start)), message, ..told }
            }
            None => ConfigError { place: Some(self.source.place(self.span.start)), ..told },
        }
    }

    fn entries(&self) -> impl Iterator<Item = (Spanned<DeString<'s>>, Spanned<DeValue<'s>>)> {
        self.entries.iter().map(|(key, value)| (Spanned::new(key.span(), key.get_ref().clone().into()), value.clone()))
    }

    /// What is under a key, by a reader of its own.
    pub(crate) fn read_key<T: DeserializeOwned>(&mut self, key: &str) -> Read<Option<T>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        T::deserialize(ValueDeserializer::from(value)).map(Some).map_err(|error| self.source.syntax(&error))
    }
}

/// What was probably meant.
fn meant(written: &str, known: &[&str]) -> String {
    let longer: Vec<&str> = known.iter().copied().filter(|word| word.starts_with(&format!("{written}_"))).collect();
    match nearest(written, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if !longer.is_empty() => format!("did you mean `{}`?", longer.join("` or `")),
        None if known.len() > LISTED_MAX => "docs/guide/configuration.md has all keys".to_owned(),
        None => format!("known are `{}`", known.join("`, `")),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
