use super::parse_ms;

#[test]
fn a_whole_number_and_a_unit_are_a_duration() {
    for (text, ms) in [("250ms", 250), ("90s", 90_000), ("15m", 900_000), ("12h", 43_200_000), ("30d", 2_592_000_000)] {
        assert_eq!(parse_ms(text), Ok(ms), "{text}");
    }
    assert_eq!(parse_ms("0s"), Ok(0));
}

#[test]
fn anything_else_is_refused_with_a_hint() {
    for text in ["", "30", "d", "-1d", "1.5h", "30 d", "30D", "1w", "99999999999999999999d"] {
        assert!(parse_ms(text).is_err_and(|problem| problem.contains("30d")), "{text}");
    }
    assert!(parse_ms("18446744073709551615d").is_err_and(|problem| problem.contains("longer")));
}
