//! How much the well-known models take.

/// The beginnings of models' names and their windows in tokens, as their makers state them. The first that fits counts.
const WINDOWS: [(&str, u64); 19] = [
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-0125", 128_000),
    ("gpt-4-vision", 128_000),
    ("gpt-4-32k", 32_768),
    ("gpt-4", 8_192),
    ("gpt-3.5-turbo", 16_385),
    ("o1-mini", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("claude-", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-1.5-flash", 1_048_576),
    ("gemini-2", 1_048_576),
    ("gemini-3", 1_048_576),
];

/// The window of a model that is known by name.
pub(super) fn known_window_tokens(model: &str) -> Option<u64> {
    WINDOWS.iter().find(|(start, _)| model.starts_with(start)).map(|(_, tokens)| *tokens)
}
