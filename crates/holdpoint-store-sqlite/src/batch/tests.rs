use sqlx::ConnectOptions;

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
    let mut batch = Batch::default();
    let first = batch.add("SELECT $1 AS a, $2 AS b").bind(1).bind("a").number();
    batch.add("SELECT 7 WHERE $1 > 9").bind(3);
    let rows = JsonRows::of_texts(["x", "", "\0\"\\é"]);
    let texts = "SELECT CAST(substr($2, value->>0, value->>1) AS TEXT) AS t FROM json_each($1)";
    let third = batch.add_rows(texts, rows).unwrap();
    assert!(batch.add_rows(texts, JsonRows::default()).is_none());
    let mut given = batch.run(&mut connection().await).await.unwrap();
    let row = given.take(first).remove(0);
    assert_eq!((row.int("a").unwrap(), &*row.text("b").unwrap()), (1, "a"));
    let texts: Vec<_> = given.take(third).iter().map(|row| row.text("t").unwrap()).collect();
    assert_eq!(texts, ["x".into(), "".into(), "\0\"\\é".into()] as [std::sync::Arc<str>; 3]);
}

#[tokio::test]
async fn numbers_and_bytes_of_rows_come_through_exactly() {
    let mut rows = JsonRows::default();
    rows.row().int(i64::MAX).int_or_null(None).bytes(&[0, 255, 0]).text_or_null(None).end();
    rows.row().int(i64::MIN).int_or_null(Some(-1)).bytes(&[]).text_or_null(Some("t")).end();
    let mut batch = Batch::default();
    let sql = "SELECT value->>0 AS a, value->>1 AS b, substr($2, value->>2, value->>3) AS c, \
               CAST(substr($2, value->>4, value->>5) AS TEXT) AS d FROM json_each($1)";
    let statement = batch.add_rows(sql, rows).unwrap();
    let given = batch.run(&mut connection().await).await.unwrap().take(statement);
    let read = |row: &Row| {
        let (a, b) = (row.int("a").unwrap(), row.int_or_null("b").unwrap());
        (a, b, row.bytes("c").unwrap().to_vec(), row.text_or_null("d").unwrap())
    };
    assert_eq!(read(&given[0]), (i64::MAX, None, vec![0, 255, 0], None));
    assert_eq!(read(&given[1]), (i64::MIN, Some(-1), vec![], Some("t".into())));
}
