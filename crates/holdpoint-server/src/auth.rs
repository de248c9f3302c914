//! Who asks, and what they may.

mod caller;
mod console;
mod token;

pub(crate) use caller::{Caller, Right, authenticate};
pub(crate) use console::{ConsoleSession, SESSION_COOKIE, cookie_of};
pub use holdpoint_api::TokenRole;
pub use token::Token;
pub(crate) use token::Tokens;
