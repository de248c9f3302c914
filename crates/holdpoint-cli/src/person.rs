//! Who acts at this terminal.

use clap::Args;
use holdpoint::Actor;

use crate::failure::{Failure, Outcome};

/// Who acts.
#[derive(Args, Clone, Debug)]
pub(crate) struct PersonArgs {
    /// Who acts, as the audit log names them; the user of this terminal if absent.
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// A role that rules may ask for. May be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
}

impl PersonArgs {
    /// Rejects the options where a token says who acts.
    pub(crate) fn expect_none(&self) -> Outcome<()> {
        if self.name.is_none() && self.roles.is_empty() {
            return Ok(());
        }
        let failure = Failure::usage("--as and --role mean nothing with --server: the token says who acts");
        Err(failure.hint("leave them out: HOLDPOINT_TOKEN holds the token of the person who acts"))
    }

    /// The actor, in the tenant of what they act on.
    pub(crate) fn actor(&self, tenant: Option<&str>) -> Actor {
        let user = || ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
        let name = self.name.clone().or_else(user).filter(|name| !name.trim().is_empty());
        Actor {
            id: Some(name.unwrap_or_else(|| "terminal".to_owned()).into()),
            roles: self.roles.iter().map(|role| role.as_str().into()).collect(),
            tenant: tenant.map(Into::into),
        }
    }
}
