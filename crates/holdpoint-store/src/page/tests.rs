use super::*;

#[test]
fn a_cursor_is_read_by_its_own_list_only() {
    for numbers in [[0, 0], [17, 3], [i64::MAX, i64::MAX]] {
        let cursor = List::PendingQuestions.cursor(numbers);
        assert_eq!(List::PendingQuestions.position(Some(&cursor), [1, 1]).unwrap(), numbers);
        assert!(List::EndedQuestions.position(Some(&cursor), [1, 1]).is_err());
    }
    assert_eq!(List::Runs.position(None, [9]).unwrap(), [9]);
}

#[test]
fn a_cursor_that_no_list_made_is_rejected() {
    for text in ["", "r", "7", "r-7", "r+7", "r7.", "r7.1", "rx", "r99999999999999999999", "nobody's"] {
        let position = List::Runs.position(Some(&Cursor::new(text)), [0]);
        assert!(matches!(position, Err(StoreError::InvalidCursor)), "{text}");
    }
}

#[test]
fn an_item_beyond_the_page_starts_the_next_one() {
    let items = |count| (1..=count).map(|number| Ok(([number], number)));
    let page = Page::collect(List::Tasks, 2, items(3)).unwrap();
    assert_eq!((page.items, page.next), (vec![1, 2], Some(List::Tasks.cursor([3]))));
    assert_eq!(Page::collect(List::Tasks, 2, items(2)).unwrap().next, None);
}
