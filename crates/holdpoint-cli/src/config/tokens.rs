//! `[[tokens]]`: who may ask the server, for which tenant, and for what.

use std::path::{Path, PathBuf};

use holdpoint_config::{KeyPath, Problem, SecretSource, VariableName};
use holdpoint_server::TokenRole;
use serde::Deserialize;

/// One token.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TokenTable {
    pub(crate) name: String,
    pub(crate) tenant: String,
    #[serde(default)]
    pub(crate) roles: Vec<TokenRole>,
    #[serde(default)]
    pub(crate) approves_as: Vec<String>,
    secret_env: Option<VariableName>,
    secret_file: Option<PathBuf>,
}

/// Checks each token, and that no two have one name.
pub(super) fn check(tokens: &[TokenTable]) -> Result<(), Problem> {
    for (index, token) in tokens.iter().enumerate() {
        let is_taken = tokens[..index].iter().any(|other| other.name == token.name);
        let checked = match is_taken {
            false => token.check(),
            true => {
                let problem = Problem::at("name", format_args!("is `{}`, as that of another token", token.name));
                Err(problem.with_hint("the name is who acts: give each its own"))
            }
        };
        checked.map_err(|problem| problem.below(KeyPath::from("tokens").index(index)))?;
    }
    Ok(())
}

impl TokenTable {
    fn check(&self) -> Result<(), Problem> {
        for (key, text) in [("name", &self.name), ("tenant", &self.tenant)] {
            if text.trim().is_empty() {
                return Err(Problem::at(key, "is empty"));
            }
        }
        if self.roles.is_empty() {
            let problem = Problem::at("roles", format_args!("is missing for the token `{}`", self.name));
            return Err(problem.with_hint("give it some of `submit`, `read`, `approve`, `work`, `admin`"));
        }
        if let Some(index) = self.approves_as.iter().position(|role| role.trim().is_empty()) {
            return Err(Problem::at(KeyPath::from("approves_as").index(index), "is empty"));
        }
        self.secret(Path::new("")).map(drop)
    }

    /// Where its secret is; relative paths begin at `folder`.
    pub(crate) fn secret(&self, folder: &Path) -> Result<SecretSource, Problem> {
        let source = SecretSource::from_keys("secret_", self.secret_env.clone(), self.secret_file.clone())?;
        let source = source.ok_or_else(|| {
            let problem = Problem::new(format_args!("has no secret for the token `{}`", self.name));
            problem.with_hint("name the variable or the file that holds it with `secret_env` or `secret_file`")
        })?;
        Ok(source.in_folder(folder))
    }
}
