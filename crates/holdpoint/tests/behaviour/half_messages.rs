//! No tool runs from a message that was received by half, whatever protocol it came over, and the run can be retried.

use crate::common;
#[path = "../../../holdpoint-model/tests/faults/server.rs"]
#[allow(dead_code, reason = "the server of the fault tests can do more")]
mod server;
#[path = "../../../holdpoint-model/tests/faults/wire.rs"]
#[allow(dead_code, reason = "the fault tests say more with it")]
mod wire;

use std::time::Duration;

use common::{Counter, echo};
use holdpoint::model::{ModelChoice, RetryRule};
use holdpoint::policy::AllowAll;
use holdpoint::{Agent, Status, StopReason};
use holdpoint_core::Failure;
use server::{FaultServer, stream};
use wire::{ASKS, Api, SAYS, ending, frames};

fn choice(api: Api, url: &str) -> ModelChoice {
    let (choice, path) = match api {
        Api::Chat => ("openai:m", "/v1"),
        Api::Responses => ("openai-responses:m", "/v1"),
        Api::Anthropic => ("anthropic:m", "/v1"),
        Api::Gemini => ("gemini:m", "/v1beta"),
    };
    let retry = RetryRule { attempts_max: 2, delay_min: Duration::from_millis(1), ..RetryRule::default() };
    ModelChoice::parse(choice).unwrap().base_url(format!("{url}{path}")).retry(retry)
}

#[tokio::test]
async fn a_call_whose_message_was_cut_off_never_runs_and_the_run_can_be_retried() {
    for api in Api::ALL {
        let mut cut = frames(api, &ASKS);
        cut.truncate(cut.len() - ending(api));
        // Twice cut off, with the whole call there but not the end; then whole; then the answer.
        let answers = vec![stream(&cut), stream(&cut), stream(&frames(api, &ASKS)), stream(&frames(api, &SAYS))];
        let server = FaultServer::start(answers).await;
        let counter = Counter::default();
        let agent = Agent::builder()
            .model(choice(api, &server.url))
            .policy(AllowAll)
            .tool(echo("get_weather", &counter))
            .build()
            .unwrap();
        let failed = agent.chat("Weather in Oslo?").await.unwrap();
        assert_eq!(failed.status(), Status::Failed, "{api:?}");
        assert_eq!(failed.stop_reason(), Some(StopReason::Failed(Failure::ProviderError)), "{api:?}");
        assert_eq!((counter.count(), server.requests().len()), (0, 2), "{api:?}");
        let done = agent.runner().retry(failed.run_id()).await.unwrap();
        assert_eq!((counter.count(), done.text().as_deref()), (1, Some("Hello é!")), "{api:?}");
    }
}
