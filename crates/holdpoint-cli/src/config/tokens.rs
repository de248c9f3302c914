//! `[[tokens]]`: who may ask the server, for which tenant, and for what.

use holdpoint_server::TokenRole;

use super::secret::SecretPlace;
use super::source::Located;
use super::table::{Read, Table};

pub(super) const KEYS: &[&str] = &["name", "tenant", "roles", "approves_as", "secret_env", "secret_file"];

/// One token.
#[derive(Clone, Debug)]
pub(crate) struct TokenTable {
    pub(crate) name: Located<String>,
    pub(crate) tenant: String,
    pub(crate) roles: Vec<TokenRole>,
    pub(crate) approves_as: Vec<String>,
    pub(crate) secret: Located<SecretPlace>,
}

pub(super) fn read(root: &mut Table<'_>) -> Read<Vec<TokenTable>> {
    let mut tokens: Vec<TokenTable> = Vec::new();
    for table in root.tables("tokens")? {
        table.check_keys(KEYS)?;
        let source = table.source();
        let token = token(table)?;
        if tokens.iter().any(|known| known.name.value == token.name.value) {
            let message = format!("there are two tokens with the name `{}`", token.name.value);
            return Err(source.wrong(&token.name.span, message).hint("the name is who acts: give each its own"));
        }
        tokens.push(token);
    }
    Ok(tokens)
}

fn token(mut table: Table<'_>) -> Read<TokenTable> {
    let name = table.required_text("name")?;
    let tenant = table.required_text("tenant")?.value;
    let roles_at = table.span_of("roles");
    let mut roles = table.words("roles", &TokenRole::ALL.map(|role| (role.as_str(), role)))?.unwrap_or_default();
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() {
        let wrong = table.source().wrong(&roles_at, format!("the token `{}` has no `roles`", name.value));
        return Err(wrong.hint("give it some of `submit`, `read`, `approve`, `work`, `admin`"));
    }
    let approves_as = table.texts("approves_as")?.unwrap_or_default();
    if let Some(empty) = approves_as.iter().find(|role| role.value.trim().is_empty()) {
        return Err(table.source().wrong(&empty.span, "a role in `approves_as` is empty"));
    }
    let secret = SecretPlace::read(&mut table, "secret_env", "secret_file")?.ok_or_else(|| {
        let wrong = table.source().wrong(table.span(), format!("the token `{}` has no secret", name.value));
        wrong.hint("name the variable or the file that holds it with `secret_env` or `secret_file`")
    })?;
    let approves_as = approves_as.into_iter().map(|role| role.value).collect();
    Ok(TokenTable { name, tenant, roles, approves_as, secret })
}
