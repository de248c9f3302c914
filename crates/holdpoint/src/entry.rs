//! Entry points: what an agent is made of, what it is asked, and what comes back.

pub(crate) mod agent;
pub mod blocking;
pub(crate) mod builder;
pub(crate) mod desk;
pub(crate) mod opening;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod resume;
pub(crate) mod runner;
pub(crate) mod seen;
pub(crate) mod session;
