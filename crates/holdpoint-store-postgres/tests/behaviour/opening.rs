//! Opening a database: what can be wrong with it, and its tables.

use crate::common;

use common::{Server, sql, step};
use holdpoint_core::{Revision, RunId};
use holdpoint_store::{Scope, Store, StoreError, StoreFault};
use holdpoint_store_postgres::testing::Scratch;
use holdpoint_store_postgres::{Migrate, Options, PostgresStore, SCHEMA_VERSION};

async fn refused(url: &str) -> StoreError {
    PostgresStore::open(url).await.expect_err("it must not open")
}

fn fault(error: &StoreError) -> &StoreFault {
    match error {
        StoreError::Fault { fault, .. } => fault,
        other => panic!("{other:?} is not classified"),
    }
}

/// Everything that a person may get to see.
fn shown(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{error} | {cause} | {error:?}")
}

fn user_changed(url: &str, user: &str) -> String {
    let (_, host) = url.split_once('@').unwrap();
    format!("postgres://{user}@{host}")
}

#[tokio::test]
async fn a_wrong_address_is_refused() {
    for url in ["mysql://host/db", "postgres://host:port/db", "postgres:runs"] {
        assert_eq!(fault(&refused(url).await), &StoreFault::InvalidUrl, "{url}");
    }
}

#[tokio::test]
async fn a_missing_database_is_named() {
    let scratch = Scratch::new().await.unwrap();
    let error = refused(&format!("{}_not_there", scratch.url())).await;
    assert_eq!(fault(&error), &StoreFault::Missing);
    assert!(shown(&error).contains("_not_there"), "{}", shown(&error));
}

#[tokio::test]
async fn a_wrong_user_is_not_let_in_and_the_password_is_not_shown() {
    let scratch = Scratch::new().await.unwrap();
    let error = refused(&user_changed(scratch.url(), "nobody_of_this_name:s3cret")).await;
    assert_eq!(fault(&error), &StoreFault::NotPermitted);
    assert!(!shown(&error).contains("s3cret"), "{}", shown(&error));
}

#[tokio::test]
async fn a_user_without_rights_is_told_so() {
    let scratch = Scratch::new().await.unwrap();
    let role = scratch.url().rsplit('/').next().unwrap().replace("holdpoint_", "powerless_");
    sql(scratch.url(), &format!("create role {role} login")).await;
    let error = refused(&user_changed(scratch.url(), &role)).await;
    assert_eq!(fault(&error), &StoreFault::NotPermitted);
    PostgresStore::open(scratch.url()).await.unwrap();
    sql(scratch.url(), &format!("drop role {role}")).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    // Nobody listens on this port.
    let error = refused("postgres://ana:s3cret@127.0.0.1:1/runs").await;
    assert_eq!(fault(&error), &StoreFault::Unavailable);
    assert!(error.may_pass());
    assert!(!shown(&error).contains("s3cret"), "{}", shown(&error));
    assert!(shown(&error).contains("postgres://ana@127.0.0.1:1/runs"), "{}", shown(&error));
}

#[tokio::test]
async fn a_read_only_server_is_read_only() {
    let scratch = Scratch::new().await.unwrap();
    let store = Store::from(PostgresStore::open(scratch.url()).await.unwrap());
    drop(store);
    let url = format!("{}?options[default_transaction_read_only]=on", scratch.url());
    let options = Options { outage_ms: 100, ..Options::default() };
    let store = Store::from(PostgresStore::open_with(&url, options).await.unwrap());
    let error = store.runs.commit(&RunId::new("run"), Revision(0), step("one")).await.unwrap_err();
    assert_eq!(error.code().as_str(), "store_read_only");
}

#[tokio::test]
async fn the_tables_can_be_in_a_schema_of_their_own() {
    let scratch = Scratch::new().await.unwrap();
    let url = format!("{}?options[search_path]=agents", scratch.url());
    assert_eq!(fault(&refused(&url).await), &StoreFault::Missing);
    sql(scratch.url(), "create schema agents").await;
    let store = Store::from(PostgresStore::open(&url).await.unwrap());
    store.runs.commit(&RunId::new("run"), Revision(0), step("one")).await.unwrap();
    sql(scratch.url(), "select 1 / count(*) from agents.holdpoint_runs").await;
}

#[tokio::test]
async fn many_may_open_an_empty_database_at_once() {
    let scratch = Scratch::new().await.unwrap();
    let opening = (0..8).map(|_| {
        let url = scratch.url().to_owned();
        tokio::spawn(async move { PostgresStore::open(&url).await.map(drop) })
    });
    for opened in opening.collect::<Vec<_>>() {
        opened.await.unwrap().unwrap();
    }
    sql(scratch.url(), "select 1 / (count(*) filter (where version = 1))::int from holdpoint_schema").await;
}

#[tokio::test]
async fn tables_are_not_made_when_that_is_refused() {
    let scratch = Scratch::new().await.unwrap();
    let refuse = || Options { migrate: Migrate::Refuse, ..Options::default() };
    let error = PostgresStore::open_with(scratch.url(), refuse()).await.unwrap_err();
    assert_eq!(fault(&error), &StoreFault::SchemaOlder { found: 0, known: SCHEMA_VERSION });
    sql(scratch.url(), "create table holdpoint_runs ()").await;
    sql(scratch.url(), "drop table holdpoint_runs").await;
    PostgresStore::open(scratch.url()).await.unwrap();
    PostgresStore::open_with(scratch.url(), refuse()).await.unwrap();
}

#[tokio::test]
async fn tables_of_a_newer_version_are_left_alone() {
    let scratch = Scratch::new().await.unwrap();
    PostgresStore::open(scratch.url()).await.unwrap();
    sql(scratch.url(), "insert into holdpoint_schema (version) values (7)").await;
    for migrate in [Migrate::Auto, Migrate::Refuse] {
        let error =
            PostgresStore::open_with(scratch.url(), Options { migrate, ..Options::default() }).await.unwrap_err();
        assert_eq!(fault(&error), &StoreFault::SchemaNewer { found: 7, known: SCHEMA_VERSION });
    }
}

#[tokio::test]
async fn an_acknowledged_commit_is_durable_whatever_the_default_is() {
    let server = Server::start();
    sql(&server.url, "alter system set synchronous_commit = off").await;
    sql(&server.url, "alter system set wal_writer_delay = '10s'").await;
    server.halt();
    server.start_again();
    let store = Store::from(PostgresStore::open(&server.url).await.unwrap());
    let run = RunId::new("run");
    for revision in 0..50 {
        store.runs.commit(&run, Revision(revision), step("next")).await.unwrap();
    }
    server.halt();
    server.start_again();
    assert_eq!(store.runs.load(&Scope::All, &run, Revision(0)).await.unwrap().len(), 50);
}
