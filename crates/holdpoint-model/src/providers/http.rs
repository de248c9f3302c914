//! The HTTP client of a provider.

use crate::error::ModelChoiceError;
use crate::providers::choice::Opening;

/// A client that follows no redirect, unpacks nothing, and gives up connecting in time.
pub(crate) fn client(opening: &Opening) -> Result<reqwest::Client, ModelChoiceError> {
    // Another part of the program may have chosen already; then that choice holds.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .connect_timeout(opening.timeouts.connect)
        .redirect(reqwest::redirect::Policy::none())
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate();
    // Certificates are read from the system only where they are needed: it takes time, and a container may have none.
    let builder = if opening.base_url.starts_with("http://") { builder.tls_certs_only([]) } else { builder };
    builder.build().map_err(|error| ModelChoiceError::Client { reason: error.without_url().to_string() })
}

/// Whether the connection itself failed, however the library wraps it, rather than what came over it.
pub(crate) fn is_lost(error: &reqwest::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return !matches!(error.kind(), std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData);
        }
        source = error.source();
    }
    false
}
