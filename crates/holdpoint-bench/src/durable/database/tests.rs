#![allow(clippy::unwrap_used, reason = "the whole file is a test, its helpers included")]

use super::Place;

fn moved(url: &str) -> String {
    match Place::at(url).unwrap() {
        Place::Postgres(server) => server.url_of("scratch"),
        Place::Sqlite(folder) => folder.display().to_string(),
    }
}

#[test]
fn a_database_of_its_own_has_the_address_of_the_server_and_its_parameters() {
    assert_eq!(
        moved("postgres://me@host:5433/runs?sslmode=disable"),
        "postgres://me@host:5433/scratch?sslmode=disable"
    );
    assert_eq!(moved("postgresql://me:secret@host/runs"), "postgresql://me:secret@host/scratch");
    assert_eq!(moved("postgres://host"), "postgres://host/scratch");
}

#[test]
fn files_are_made_in_the_folder_of_the_path() {
    assert_eq!(moved("sqlite:/var/data/runs.db"), "/var/data");
    assert_eq!(moved("sqlite:runs.db"), ".");
}

#[test]
fn an_address_that_is_none_is_refused_without_being_shown() {
    for url in ["mysql://me:secret@host/runs", "postgres://me:secret@host:many/runs"] {
        let said = Place::at(url).err().unwrap().to_string();
        assert!(!said.contains("secret"), "{said}");
    }
}
