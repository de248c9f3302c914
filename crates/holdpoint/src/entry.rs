//! Entry points: what an agent is made of, what it is asked, and what comes back.

pub(crate) mod agent;
mod answers;
pub(crate) mod builder;
pub(crate) mod decisions;
pub(crate) mod export;
mod found;
pub(crate) mod point;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod results;
pub(crate) mod resume_from;
pub(crate) mod runner;
pub(crate) mod segment;
pub(crate) mod session;
