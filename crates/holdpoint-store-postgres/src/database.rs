//! Databases on a server: what scenarios and tests have to themselves.

use holdpoint_store::{OwnerId, StoreError};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

use crate::fault::store_error;
use crate::options::Address;

/// Creates an empty database under a new name on the server of this address. Returns its address.
///
/// # Errors
/// When the server cannot be reached or does not allow it.
pub async fn create_database(server_url: &str) -> Result<String, StoreError> {
    let name = format!("holdpoint_{}", OwnerId::unique().as_str().replace('-', ""));
    // `template1` cannot be copied while another session uses it.
    run(server_url, format!("create database {name} template template0")).await?;
    let (address, query) = server_url.split_once('?').map_or((server_url, None), |(rest, query)| (rest, Some(query)));
    let start = address.find("://").map_or(0, |at| at + 3);
    let end = address[start..].find('/').map_or(address.len(), |at| start + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Ok(format!("{}/{name}{query}", &address[..end]))
}

/// Drops a database of this server, and ends the connections that others have to it.
///
/// # Errors
/// As [`create_database`].
pub async fn drop_database(server_url: &str, url: &str) -> Result<(), StoreError> {
    let address = Address::parse(url)?;
    let name = address.options().get_database().unwrap_or_default().replace('"', "\"\"");
    run(server_url, format!("drop database if exists \"{name}\" with (force)")).await
}

async fn run(server_url: &str, sql: String) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| store_error("create or drop a database", &error);
    let mut connection = Address::parse(server_url)?.options().connect().await.map_err(failed)?;
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.map_err(failed)?;
    // Whether the server hears the goodbye does not matter.
    _ = connection.close().await;
    Ok(())
}
