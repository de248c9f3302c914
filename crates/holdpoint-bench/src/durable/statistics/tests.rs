use super::{median, range};

#[test]
fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
    assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
    assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    assert!(median(&[]).is_nan());
    assert!(median(&[f64::NAN; 3]).is_nan());
}

#[test]
fn the_range_is_the_smallest_and_the_largest() {
    assert_eq!(range(&[3.0, -1.0, 2.0]), (-1.0, 3.0));
}
