use super::*;

#[test]
fn both_schemes_are_read_and_the_password_is_not_shown() {
    for scheme in ["postgres", "postgresql"] {
        let address = Address::parse(&format!("{scheme}://ana:s3cret@db.example:5433/runs?sslmode=disable")).unwrap();
        assert_eq!(address.to_string(), "postgres://ana@db.example:5433/runs");
        assert!(!format!("{address:?}").contains("s3cret"));
    }
}

#[test]
fn a_schema_can_be_chosen() {
    for parameter in
        ["options[search_path]=agents", "options%5Bsearch_path%5D=agents", "options=-csearch_path%3Dagents"]
    {
        let address = Address::parse(&format!("postgres://ana@db.example/runs?{parameter}")).unwrap();
        assert!(address.options().get_options().is_some_and(|options| options.contains("search_path")), "{parameter}");
    }
}

#[test]
fn what_is_not_an_address_is_refused_without_showing_it() {
    let urls = [
        "",
        "nonsense",
        "mysql://ana:s3cret@host/db",
        "postgres:ana:s3cret@host",
        "postgres://ana:s3cret@host:notaport/db",
        "postgres://ana:s3cret@host/db?sslmode=s3cret-no",
        "postgres://ana:s3cret@host/db?pasword=s3cret",
        "postgres://ana:s3cret@host/db?optionsx=s3cret",
    ];
    for url in urls {
        let error = Address::parse(url).unwrap_err();
        assert_eq!(error.code().as_str(), "invalid_store_url", "{url}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("s3cret@"), "{shown}");
        assert!(!shown.contains("=s3cret"), "{shown}");
    }
}
