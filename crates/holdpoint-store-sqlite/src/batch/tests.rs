use sqlx::{ConnectOptions, Row};

use super::*;

async fn connection() -> SqliteConnection {
    sqlx::sqlite::SqliteConnectOptions::new().in_memory(true).connect().await.unwrap()
}

#[test]
fn values_are_counted_on() {
    let mut sql = String::new();
    push_renumbered(&mut sql, "SELECT $1, $12 WHERE $1 > $2", 10);
    assert_eq!(sql, "SELECT $11, $22 WHERE $11 > $12");
}

#[tokio::test]
async fn every_statement_has_its_own_values_and_rows() {
    let mut batch = Batch::new();
    let first = batch.add("SELECT $1, $2", Values::none().int(1).text("a"));
    batch.add("SELECT 7 WHERE $1 > 9", Values::none().int(3));
    let rows = Rows::of_texts(["x", "", "\0\"\\é"]);
    let third =
        batch.add("SELECT CAST(substr($2, value->>0, value->>1) AS TEXT) FROM json_each($1)", Values::rows(rows));
    let mut given = batch.run(&mut connection().await).await.unwrap();
    let row = given.take(first).remove(0);
    assert_eq!((row.get::<i64, _>(0), row.get::<String, _>(1)), (1, "a".to_owned()));
    let texts: Vec<String> = given.take(third).iter().map(|row| row.get(0)).collect();
    assert_eq!(texts, ["x", "", "\0\"\\é"]);
}

#[tokio::test]
async fn numbers_and_bytes_of_rows_come_through_exactly() {
    let mut rows = Rows::new();
    rows.row().int(i64::MAX).int_or_null(None).bytes(&[0, 255, 0]).text_or_null(None).end();
    rows.row().int(i64::MIN).int_or_null(Some(-1)).bytes(&[]).text_or_null(Some("t")).end();
    let mut batch = Batch::new();
    let sql = "SELECT value->>0, value->>1, substr($2, value->>2, value->>3), \
               CAST(substr($2, value->>4, value->>5) AS TEXT) FROM json_each($1)";
    let statement = batch.add(sql, Values::rows(rows));
    let given = batch.run(&mut connection().await).await.unwrap().take(statement);
    let read = |row: &SqliteRow| {
        (row.get::<i64, _>(0), row.get::<Option<i64>, _>(1), row.get::<Vec<u8>, _>(2), row.get::<Option<String>, _>(3))
    };
    assert_eq!(read(&given[0]), (i64::MAX, None, vec![0, 255, 0], None));
    assert_eq!(read(&given[1]), (i64::MIN, Some(-1), vec![], Some("t".to_owned())));
}
