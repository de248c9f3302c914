use super::*;

#[test]
fn an_old_server_is_refused_with_its_version() {
    let error = check_version(Some(14_00_12)).unwrap_err();
    let StoreError::Failed { cause, .. } = error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), "the server is PostgreSQL 14, and 15 or newer is needed");
    for fine in [Some(15_00_00), Some(18_00_01), None] {
        assert!(check_version(fine).is_ok());
    }
}

#[tokio::test]
async fn attempts_end_when_the_database_was_away_for_too_long() {
    let address = Address::parse("postgres://nobody@localhost/none").unwrap();
    let mut retry = Pool::new(address, 30, 1).retry();
    let mut attempts = 0;
    while retry.again(&timed_out()).await {
        attempts += 1;
        assert!(attempts < 10);
    }
    assert!(attempts > 0 && retry.is_unsure);
    assert!(!retry.begin(false), "another thing has no time left");
}

#[tokio::test]
async fn an_error_that_would_come_again_is_not_tried_again() {
    let address = Address::parse("postgres://nobody@localhost/none").unwrap();
    assert!(!Pool::new(address, 1_000, 1).retry().again(&sqlx::Error::RowNotFound).await);
}
