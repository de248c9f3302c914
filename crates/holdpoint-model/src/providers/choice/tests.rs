use std::io::Write;

use secrecy::ExposeSecret;

use super::{KeySource, ModelChoice, ModelChoiceError, known_window_tokens, provider_names};

#[test]
fn a_choice_names_provider_and_model() {
    let choice = ModelChoice::parse("ollama:qwen3:4b").unwrap();
    assert_eq!((choice.provider.name, &*choice.model), ("ollama", "qwen3:4b"));
}

#[test]
fn what_names_no_model_is_refused() {
    for text in ["", "gpt-5", ":gpt-5", "openai:", " : "] {
        assert!(matches!(ModelChoice::parse(text), Err(ModelChoiceError::NotAChoice { .. })), "{text}");
    }
}

#[test]
fn an_unknown_provider_is_refused_with_the_known_ones() {
    let error = ModelChoice::parse("opnai:gpt-5").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`opnai`"), "{text}");
    assert!(provider_names().iter().all(|name| text.contains(name)), "{text}");
}

#[test]
fn a_named_variable_must_be_there() {
    let choice = ModelChoice::parse("openai:gpt-5").unwrap().key(KeySource::Env("HOLDPOINT_NO_SUCH_KEY".into()));
    let error = choice.opening().unwrap_err();
    assert!(error.to_string().contains("HOLDPOINT_NO_SUCH_KEY"), "{error}");
}

#[test]
fn a_server_of_ones_own_gets_no_key_of_somebody_else() {
    let choice = ModelChoice::parse("openai:any").unwrap().base_url("http://127.0.0.1:9/v1/");
    let opening = choice.opening().unwrap();
    assert!(opening.key.is_none());
    assert_eq!(&*opening.base_url, "http://127.0.0.1:9/v1");
}

#[test]
fn a_key_file_is_read_and_never_printed() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "sk-canary").unwrap();
    let choice = ModelChoice::parse("openai:gpt-5").unwrap().key(KeySource::File(file.path().to_owned()));
    let opening = choice.opening().unwrap();
    assert_eq!(opening.key.as_ref().map(ExposeSecret::expose_secret), Some("sk-canary"));
    assert!(!format!("{opening:?} {choice:?}").contains("canary"));
}

#[test]
fn an_empty_or_missing_key_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path().to_owned(), file.path().join("none")] {
        let choice = ModelChoice::parse("openai:gpt-5").unwrap().key(KeySource::File(path));
        assert!(matches!(choice.opening(), Err(ModelChoiceError::KeyFile { .. })));
    }
}

#[test]
fn an_address_that_is_none_is_refused_without_its_password() {
    for url in [
        "",
        "127.0.0.1:80",
        "ftp://h/v1",
        "http://",
        "http://h/v1?key=1",
        "http://me:canary@h/v1",
        "mailto:me:canary@h",
    ] {
        let error = ModelChoice::parse("openai:gpt-5").unwrap().base_url(url).opening().unwrap_err();
        assert!(matches!(error, ModelChoiceError::BaseUrl { .. }), "{url}");
        assert!(!error.to_string().contains("canary"), "{error}");
    }
}

#[test]
fn windows_are_known_by_the_beginning_of_a_name_and_can_be_given() {
    assert_eq!(known_window_tokens("gpt-4o-mini-2024-07-18"), Some(128_000));
    assert_eq!(known_window_tokens("gpt-4"), Some(8_192));
    assert_eq!(known_window_tokens("gpt-4-32k-0613"), Some(32_768));
    assert_eq!(known_window_tokens("my-own"), None);
    let choice = ModelChoice::parse("ollama:gpt-5").unwrap().window_tokens(7);
    assert_eq!(choice.opening().unwrap().window_tokens, Some(7));
}

#[test]
fn only_openai_itself_is_taken_for_openai() {
    let opened = |name: &str, url: Option<&str>| {
        let choice = ModelChoice::parse(name).unwrap().key(KeySource::Given("k".into()));
        let choice = match url {
            Some(url) => choice.base_url(url),
            None => choice,
        };
        choice.opening().unwrap().is_openai()
    };
    assert!(opened("openai:gpt-5", None));
    assert!(!opened("openai:gpt-5", Some("http://127.0.0.1:8080/v1")));
    assert!(!opened("mistral:small", None));
}
