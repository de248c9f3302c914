//! Lists, page by page.

use serde::Deserialize;
use utoipa::IntoParams;

/// Which page of a list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// Go on where an earlier page ended: its `next`.
    #[param(max_length = 2048)]
    pub cursor: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<u32>,
}
