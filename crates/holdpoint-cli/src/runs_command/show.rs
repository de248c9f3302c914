//! `holdpoint runs show`.

use std::process::ExitCode;

use holdpoint_api::RunView;
use holdpoint_codec::view::{BlockView, MessageView, Text};
use holdpoint_config::printable;
use serde::Serialize;

use crate::backend::ShowArgs;
use crate::failure::Outcome;
use crate::print::{self, Details, Fields};

/// What `runs show --json` prints.
#[derive(Serialize)]
struct ShownRun {
    #[serde(flatten)]
    run: RunView,
    messages: Vec<MessageView>,
}

pub(super) async fn run(args: ShowArgs) -> Outcome {
    let backend = args.item.backend.open().await?;
    let (run, messages) = (backend.run(&args.item.id).await?, backend.messages(&args.item.id).await?);
    if args.json {
        print::json(&ShownRun { run, messages });
    } else {
        print::text(details(&run) + &messages.iter().map(message_text).collect::<String>());
    }
    Ok(ExitCode::SUCCESS)
}

fn details(run: &RunView) -> String {
    let mut details = Details::default();
    let named = [("run", "id"), ("agent", "agent"), ("session", "session"), ("by", "actor"), ("created", "created_at")];
    details.fields(&Fields::of(run), &named);
    details.fields(&Fields::of(run), &[("status", "status"), ("stopped", "stop_reason")]);
    let RunView { turn, model_calls, tool_executions, usage, .. } = run;
    let calls = format!("{turn} turns, {model_calls} model calls, {tool_executions} tool executions");
    details.line("cost", &format!("{calls}, {} tokens read, {} written", usage.input, usage.output));
    for pending in &run.pending {
        let fields = Fields::of(pending);
        details.line("waits", &format!("{} {}", fields.text("tool"), pending.arguments.as_str()));
        if pending.reason.is_some() {
            details.line("", &format!("why: {}", fields.text("reason")));
        }
        details.line("", &format!("digest: {}", fields.text("digest")));
    }
    details.0
}

fn message_text(message: &MessageView) -> String {
    let blocks = message.content.iter().flatten().filter_map(|block| match block {
        BlockView::Text(text) => Some(text),
        BlockView::Json(_) | BlockView::Image(_) | BlockView::File(_) => None,
    });
    let texts: Vec<&str> = message.text.iter().chain(blocks).map(Text::as_str).collect();
    let text = printable::lines(&texts.join("\n"));
    let calls = message.calls.iter().map(|call| format!("asks for {}", Fields::of(call).text("name")));
    let lines = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).chain(calls);
    let lines: String = lines.map(|line| format!("  {line}\n")).collect();
    format!("\n{}\n{lines}", message.role.0.as_str())
}
