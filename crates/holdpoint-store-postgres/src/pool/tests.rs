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
async fn patience_comes_to_its_end() {
    let address = Address::parse("postgres://nobody@localhost/none").unwrap();
    let mut patience = Pool::new(address, 30, 1).patience();
    let mut pauses = 0;
    while patience.pause().await {
        pauses += 1;
        assert!(pauses < 10);
    }
    assert!(pauses > 0);
    assert!(patience.ended_in_vain());
}
