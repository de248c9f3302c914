use super::*;

const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn a_mark_comes_back_from_its_text() {
    for (tenant, text) in [
        (Some("acme"), "acme=3:"),
        (None, "3:"),
        (Some(""), "=3:"),
        (Some("a=1:b"), "a=1:b=3:"),
        (Some("ü x"), "ü x=3:"),
    ] {
        let text = format!("{text}{HASH}");
        let mark: SealMark = text.parse().unwrap();
        assert_eq!((mark.tenant.as_deref(), mark.number), (tenant, 3), "{text}");
        assert_eq!(mark.to_string(), text);
    }
}

#[test]
fn what_is_no_mark_is_refused() {
    let longer = format!("acme=3:{HASH}0");
    let upper = format!("acme=3:{}", HASH.to_uppercase());
    let (zero, signed, none) = (format!("acme=0:{HASH}"), format!("acme=+3:{HASH}"), format!("acme=:{HASH}"));
    for text in ["", "acme", "acme=3", "acme=3:", "acme=3:00", &longer, &upper, &zero, &signed, &none] {
        assert_eq!(text.parse::<SealMark>(), Err(NotASealMark), "{text}");
    }
}
