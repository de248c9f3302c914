//! One lookup per connection, and its answer is checked whole.

use std::sync::Mutex;

use super::*;

/// Gives one answer after another, and the last one from then on.
struct Answers(Mutex<Vec<Vec<&'static str>>>);

impl Lookup for Answers {
    fn lookup(&self, _: &str) -> LookupFuture {
        let mut answers = self.0.lock().expect("the answers");
        let answer = if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
        let addresses = answer.iter().map(|text| text.parse().expect("an address")).collect();
        Box::pin(async move { Ok(addresses) })
    }
}

fn checked(answers: &[&[&'static str]], reach: Reach) -> Checked {
    let answers = answers.iter().map(|answer| answer.to_vec()).collect();
    Checked { lookup: Arc::new(Answers(Mutex::new(answers))), reach }
}

async fn resolve(checked: &Checked) -> Result<Vec<String>, Option<Refused>> {
    let name = "a.example".parse::<Name>().expect("a name");
    match checked.resolve(name).await {
        Ok(addresses) => Ok(addresses.map(|address| address.ip().to_string()).collect()),
        Err(error) => Err(error.downcast_ref::<Refused>().copied()),
    }
}

#[tokio::test]
async fn what_was_checked_is_what_is_connected_to() {
    let public = checked(&[&["8.8.8.8", "2606:4700::1111"]], Reach::Public);
    assert_eq!(resolve(&public).await, Ok(vec!["8.8.8.8".into(), "2606:4700::1111".into()]));
}

#[tokio::test]
async fn one_private_address_among_public_ones_refuses_all() {
    for private in ["127.0.0.1", "10.0.0.1", "::1", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::a00:1"] {
        assert_eq!(resolve(&checked(&[&["8.8.8.8", private]], Reach::Public)).await, Err(Some(Refused::Private)));
        assert_eq!(resolve(&checked(&[&[private]], Reach::Private)).await.map(|found| found.len()), Ok(1));
    }
    for never in ["169.254.169.254", "0.0.0.0", "224.0.0.1", "fd00:ec2::254", "fe80::1", "2002:7f00:1::"] {
        for reach in [Reach::Public, Reach::Private] {
            assert_eq!(resolve(&checked(&[&["8.8.8.8", never]], reach)).await, Err(Some(Refused::Never)), "{never}");
        }
    }
}

#[tokio::test]
async fn a_name_that_points_elsewhere_the_second_time_is_checked_the_second_time() {
    let rebinding = checked(&[&["8.8.8.8"], &["127.0.0.1"]], Reach::Public);
    assert!(resolve(&rebinding).await.is_ok());
    assert_eq!(resolve(&rebinding).await, Err(Some(Refused::Private)));
}

#[tokio::test]
async fn a_name_without_an_address_is_refused_and_many_addresses_are_cut() {
    assert_eq!(resolve(&checked(&[&[]], Reach::Public)).await, Err(Some(Refused::Nothing)));
    let many = checked(&[&["8.8.8.8"; 100]], Reach::Public);
    assert_eq!(resolve(&many).await.map(|found| found.len()), Ok(ADDRESSES_MAX));
}
