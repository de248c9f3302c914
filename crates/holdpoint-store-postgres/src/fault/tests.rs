use super::*;

#[test]
fn codes_of_the_database_become_faults() {
    let cases = [
        ("3D000", Some(StoreFault::Missing)),
        ("28P01", Some(StoreFault::NotPermitted)),
        ("28000", Some(StoreFault::NotPermitted)),
        ("42501", Some(StoreFault::NotPermitted)),
        ("25006", Some(StoreFault::ReadOnly)),
        ("53100", Some(StoreFault::Full)),
        ("53300", Some(StoreFault::Unavailable)),
        ("57P03", Some(StoreFault::Unavailable)),
        ("08006", Some(StoreFault::Unavailable)),
        ("55P03", Some(StoreFault::Locked)),
        ("XX001", Some(StoreFault::Corrupt)),
        ("22021", None),
    ];
    for (code, wanted) in cases {
        assert_eq!(fault_of_code(code), wanted, "{code}");
    }
}

#[test]
fn a_broken_connection_is_not_the_end() {
    assert_eq!(recovery(&timed_out()), Recovery::Reconnect);
    assert_eq!(recovery(&sqlx::Error::RowNotFound), Recovery::GiveUp);
}
