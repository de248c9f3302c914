//! What kind of file a media type names.

/// Whether files of this type are text.
pub(crate) fn is_text(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    let (family, form) = kind.split_once('/').unwrap_or_default();
    let ending = form.rsplit('+').next().unwrap_or_default();
    family == "text" || matches!(ending, "json" | "xml")
}

/// The text of a file that is text.
#[cfg(feature = "providers")]
pub(crate) fn text_of(blob: &holdpoint_core::Blob) -> Option<&str> {
    is_text(&blob.media_type).then(|| std::str::from_utf8(&blob.bytes).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_known_by_their_type_whatever_else_it_says() {
        for text in [
            "text/plain",
            "text/csv; charset=utf-8",
            "application/json; charset=utf-8",
            "application/ld+json",
            "image/svg+xml",
        ] {
            assert!(is_text(text), "{text}");
        }
        for other in ["", "text", "application/pdf", "application/jsonx", "image/png", "json"] {
            assert!(!is_text(other), "{other}");
        }
    }
}
