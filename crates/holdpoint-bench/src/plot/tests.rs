use super::draw;

const LINES: &str = r#"
{"bench":"turn","cpu_us_per_turn":10.0,"cpu_us_per_turn_max":20.0}
{"bench":"d_durable","store":"postgres","conc":16,"ratio":0.5,"ratio_min":0.4}
{"bench":"d_durable","store":"postgres","conc":64,"ratio":0.3,"ratio_min":0.6}
{"bench":"d_lease","store":"sqlite","worker":"rare","ratio":9.0,"ratio_max":2.0}
"#;

#[test]
fn each_line_is_drawn_against_its_own_bound() {
    let svg = draw(LINES);
    assert!(svg.contains("10 of 20"), "{svg}");
    assert!(svg.contains("0.5 of at least 0.4"), "{svg}");
    assert!(svg.contains("0.3 of at least 0.6"), "{svg}");
}

#[test]
fn what_misses_its_bound_is_red() {
    let red = draw(LINES).matches("#a33a2c").count();
    assert_eq!(red, 1, "only 64 clients miss");
}

#[test]
fn what_nobody_measured_is_not_drawn() {
    let svg = draw(LINES);
    assert!(!svg.contains("SQLite"), "the lease of another worker is not the one of the plot");
    assert!(!svg.contains("LangGraph"));
    assert!(!draw("").contains("less is better"));
}
