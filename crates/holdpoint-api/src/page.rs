//! Lists, page by page.

use serde::Deserialize;
use serde_with::{DisplayFromStr, serde_as};
use utoipa::IntoParams;

/// Which page of a list. Other queries hold it flattened, which leaves numbers as text: so `limit` is read from text.
#[serde_as]
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct PageQuery {
    /// Go on where an earlier page ended: its `next`.
    #[param(max_length = 2048)]
    pub cursor: Option<String>,
    /// How many at most.
    #[serde_as(as = "Option<DisplayFromStr>")]
    #[param(minimum = 1, maximum = 200, value_type = Option<u32>)]
    pub limit: Option<usize>,
}
