//! Who asks, and what they may.

mod caller;
mod console;
mod token;

pub(crate) use caller::{Caller, Right, Via, authenticate};
pub(crate) use console::{ConsoleSession, SESSION_COOKIE, cookie_of};
pub(crate) use token::Tokens;
pub use token::{Token, TokenRole};
