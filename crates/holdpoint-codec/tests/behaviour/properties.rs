//! Whatever texts, names and numbers there are: what is written reads back, and stays signed.

#[allow(dead_code, reason = "each test file uses a part of it")]
use crate::support;

use std::collections::BTreeSet;
use std::sync::Arc;

use holdpoint_codec::continuation::{self, DumpOptions, LoadOptions, Trust};
use holdpoint_codec::tasks::{decode_delivery, decode_task, encode_delivery, encode_task, tasks};
use holdpoint_codec::view::GrantView;
use holdpoint_codec::{
    Context, RememberRequest, SigningKey, arguments_for, audit, canonical_json, decode_event, decode_grant,
    encode_event, encode_grant, imported_run, message_view, parse_arguments, result_from_text, result_to_text,
};
use holdpoint_core::*;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = Arc<str>> + Clone {
    prop_oneof![any::<String>(), "[ -~]{0,20}", Just("\u{0}\u{1f}\u{7f}\u{2028}\"\\/".to_owned())].prop_map(Arc::from)
}

fn json_text() -> impl Strategy<Value = JsonText> {
    prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        "[1-9][0-9]{15,40}",
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        btree_map(any::<String>(), any::<f64>().prop_filter("finite", |f| f.is_finite()), 0..4)
            .prop_map(|map| serde_json::to_string(&map).unwrap()),
    ]
    .prop_map(|text| JsonText::new(canonical_json(&text).unwrap()))
}

fn block() -> impl Strategy<Value = Block> {
    let blob =
        (text(), vec(any::<u8>(), 0..40)).prop_map(|(media_type, bytes)| Blob { media_type, bytes: bytes.into() });
    prop_oneof![
        text().prop_map(Block::Text),
        json_text().prop_map(Block::Json),
        blob.clone().prop_map(Block::Image),
        blob.prop_map(Block::File),
    ]
}

fn result() -> impl Strategy<Value = ToolResult> {
    let kind = prop_oneof![Just(ResultKind::Answer), Just(ResultKind::Error), Just(ResultKind::Halt)];
    (vec(block(), 0..4), kind, btree_map(text(), json_text(), 0..3)).prop_map(|(blocks, kind, metadata)| ToolResult {
        blocks,
        kind,
        metadata,
    })
}

fn arguments() -> impl Strategy<Value = CallArguments> {
    let object = btree_map(any::<String>(), json_text(), 0..4).prop_map(|members| {
        let members = members.iter().map(|(k, v)| format!("{}:{}", serde_json::to_string(k).unwrap(), v.expose()));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    });
    prop_oneof![
        (object, any::<String>()).prop_map(|(object, name)| {
            CallArguments::Canonical(arguments_for(&name, &parse_arguments(Some(&object)).unwrap()))
        }),
        text().prop_map(CallArguments::Unusable),
        any::<u64>().prop_map(|len_bytes| CallArguments::Dropped { len_bytes }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let call =
        (text(), prop::option::of(text()), text(), arguments()).prop_map(|(id, provider_id, name, arguments)| {
            MessageCall { id: CallId::new(id), provider_id, name: RequestedName::new(name), arguments }
        });
    prop_oneof![
        text().prop_map(Message::System),
        vec(block(), 0..4).prop_map(Message::User),
        (text(), prop::option::of(text()), vec(call, 0..3)).prop_map(|(text, thinking, calls)| Message::Assistant(
            AssistantMessage { text, thinking, calls, provider_state: None }
        )),
        (text(), prop::option::of(text()), result()).prop_map(|(call, provider_id, result)| {
            Message::Tool(ToolMessage { call: CallId::new(call), provider_id, result: Arc::new(result) })
        }),
    ]
}

fn actor() -> impl Strategy<Value = Actor> {
    (prop::option::of(text()), btree_set(text(), 0..3), prop::option::of(text()))
        .prop_map(|(id, roles, tenant)| Actor { id, roles, tenant })
}

fn terms() -> impl Strategy<Value = Terms> {
    let four_eyes = prop_oneof![Just(FourEyes::Off), Just(FourEyes::On)];
    (btree_set(text(), 0..3), any::<u32>(), prop::option::of(any::<u64>()), four_eyes)
        .prop_map(|(approvers, quorum, expires_in_ms, four_eyes)| Terms { approvers, quorum, expires_in_ms, four_eyes })
}

fn decision() -> impl Strategy<Value = Decision> {
    let ground = (prop::option::of(text()), prop::option::of(text()), prop::option::of(text()))
        .prop_map(|(reason, rule, policy)| Ground { reason, rule, policy });
    prop_oneof![
        ground.clone().prop_map(Decision::Allow),
        ground.clone().prop_map(Decision::Deny),
        (ground, terms()).prop_map(|(ground, terms)| Decision::Confirm(ground, terms)),
    ]
}

fn facts() -> impl Strategy<Value = ToolFacts> {
    let repeat = prop_oneof![Just(Repeat::Never), Just(Repeat::Safe), Just(Repeat::WithKey)];
    (text(), repeat, text(), prop::option::of(text())).prop_map(|(name, repeat, source, definition)| ToolFacts {
        name: ToolName::new(name),
        repeat,
        source,
        definition,
    })
}

fn grant() -> impl Strategy<Value = Grant> {
    let scope = prop_oneof![
        text().prop_map(|run| GrantScope::Run(RunId::new(run))),
        text().prop_map(GrantScope::Session),
        Just(GrantScope::Tenant),
    ];
    let about = (text(), facts(), prop::option::of(any::<[u8; 32]>()));
    let said = (actor(), prop::option::of(text()), any::<i64>(), prop::option::of(any::<i64>()));
    (about, scope, said).prop_map(|((id, facts, digest), scope, (actor, tenant, at, until))| Grant {
        agent: tenant.clone(),
        id: GrantId::new(id),
        tool: facts.name,
        definition: facts.definition,
        digest: digest.map(Digest),
        scope,
        until: until.map(Timestamp),
        actor,
        tenant,
        at: Timestamp(at),
    })
}

/// What has to do with grants and changed tools.
fn granted() -> impl Strategy<Value = Event> {
    let used = || (any::<u32>(), text(), actor());
    prop_oneof![
        (any::<u32>(), grant())
            .prop_map(|(call, grant)| Event::GrantGiven { call: CallIndex(call), grant: Arc::new(grant) }),
        used().prop_map(|(call, grant, actor)| Event::GrantUsed {
            call: CallIndex(call),
            grant: GrantId::new(grant),
            actor
        }),
        used().prop_map(|(_, grant, actor)| Event::GrantRevoked { grant: GrantId::new(grant), actor }),
        (any::<u32>(), facts()).prop_map(|(call, tool)| Event::ToolChanged { call: CallIndex(call), tool }),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let executor = (text(), vec((text(), text()), 0..3), any::<bool>(), prop::option::of(any::<u32>()));
    let executor = executor.prop_map(|(name, routes, all, max_concurrency)| ExecutorChoice {
        name,
        routes: routes.into_iter().map(|(pattern, executor)| Route { pattern, executor }).collect(),
        parallel: if all { Parallel::All } else { Parallel::Marked },
        max_concurrency,
    });
    let ask = prop::option::of(text());
    (any::<[bool; 6]>(), any::<[u32; 2]>(), any::<[u64; 4]>(), executor, ask, btree_set(text(), 0..3)).prop_map(
        |(flags, counts, sizes, executor, ask, context_keys)| Settings {
            max_turns: counts[0],
            max_tool_calls_per_turn: counts[1],
            parallel_tool_calls: if flags[0] { ParallelToolCalls::One } else { ParallelToolCalls::Allowed },
            siblings: if flags[1] { Siblings::Run } else { Siblings::Hold },
            recheck_policy: if flags[2] { Recheck::Off } else { Recheck::On },
            final_answer: FinalAnswer { ask, tools: if flags[3] { FinalTools::Enabled } else { FinalTools::Disabled } },
            result_order: if flags[4] { ResultOrder::Completion } else { ResultOrder::Request },
            executor,
            tool_timeout_ms: sizes[0],
            task_deadline_ms: flags[1].then_some(sizes[2]),
            max_task_attempts: counts[1],
            max_tool_output_bytes: sizes[1],
            error_detail: if flags[5] { ErrorDetail::Debug } else { ErrorDetail::Safe },
            context_window: flags[0].then_some(ContextWindow { tokens: sizes[2], reserved_output_tokens: sizes[3] }),
            context_keys,
        },
    )
}

fn settlement() -> impl Strategy<Value = Settlement> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    let code = prop::option::of(prop::sample::select(Code::ALL.to_vec()));
    let source = prop::option::of(prop::sample::select(Source::ALL.to_vec()));
    (outcome, code, source, result(), any::<u64>()).prop_map(|(outcome, code, source, result, latency_us)| Settlement {
        outcome,
        code,
        source,
        result: Arc::new(result),
        latency_us,
    })
}

fn entry() -> impl Strategy<Value = LogEntry> {
    (event(), any::<i64>()).prop_map(|(event, at)| LogEntry { at: Timestamp(at), event })
}

fn event() -> impl Strategy<Value = Event> {
    let who = (actor(), prop::option::of(text()));
    let started = (settings(), btree_map(text(), json_text(), 0..3), vec(message(), 0..4), who);
    let answer = prop_oneof![
        Just(Answer::Approve),
        prop::option::of(text()).prop_map(|reason| Answer::Refuse { reason }),
        result().prop_map(|result| Answer::Supply(Arc::new(result))),
        result().prop_map(|result| Answer::Happened(Arc::new(result))),
    ];
    let answered = (any::<u32>(), actor(), answer, prop::option::of(decision()));
    prop_oneof![
        granted(),
        started.prop_map(|(settings, context, messages, (actor, session))| {
            Event::RunStarted(Arc::new(RunStarted {
                settings: Arc::new(settings),
                context,
                agent: None,
                model: actor.id.clone(),
                messages: messages.into_iter().map(Arc::new).collect(),
                actor,
                trace: session.clone(),
                session,
            }))
        }),
        (any::<u32>(), settlement())
            .prop_map(|(call, settlement)| Event::ToolEnded { call: CallIndex(call), settlement }),
        (any::<u32>(), decision(), prop::option::of(decision())).prop_map(|(call, decision, shadow)| {
            let (call, shadow) = (CallIndex(call), shadow.map(Box::new));
            Event::CallDecided { call, stage: Stage::Recheck, decision, shadow }
        }),
        answered.prop_map(|(call, actor, answer, decision)| {
            let (call, reason) = (CallIndex(call), actor.id.clone());
            Event::CallAnswered(Box::new(CallAnswered { call, actor, answer, digest: None, decision, reason }))
        }),
        (any::<[u32; 2]>(), text(), result()).prop_map(|([call, attempt], worker, result)| {
            let (call, attempt) = (CallIndex(call), Attempt(attempt));
            Event::EvidenceGiven { call, attempt, worker, result: Arc::new(result) }
        }),
        (any::<[u32; 2]>(), text(), any::<i64>()).prop_map(|([call, attempt], worker, at)| {
            Event::TaskTaken {
                call: CallIndex(call),
                attempt: Attempt(attempt),
                fence: Fence(7),
                worker,
                since: Timestamp(at),
            }
        }),
        (any::<[u32; 2]>(), prop::option::of(any::<i64>())).prop_map(|([call, attempt], at)| {
            Event::CallDeferred { call: CallIndex(call), attempt: Attempt(attempt), deadline: at.map(Timestamp) }
        }),
        (any::<u32>(), prop::sample::select(DoubtCause::ALL.to_vec())).prop_map(|(call, cause)| Event::CallDoubted {
            call: CallIndex(call),
            cause,
            asks: None,
            may_run: call.is_multiple_of(2)
        }),
        (actor(), prop::option::of(text())).prop_map(|(actor, reason)| Event::Cancelled { actor, reason }),
        text().prop_map(|word| Event::Done { stop: StopReason::Model(ModelStop::parse(&word)) }),
    ]
}

/// How a run is asked about: its terms, its session, and the definition of its tools.
type Asking = (Terms, Option<Arc<str>>, Option<Arc<str>>);

fn asking() -> impl Strategy<Value = Asking> {
    (terms(), prop::option::of(text()), prop::option::of(text()))
}

/// A run that paused after this conversation.
fn paused(messages: Vec<Message>, reason: Arc<str>, context: Attributes, asking: Asking) -> Run {
    let (terms, session, definition) = asking;
    let mut run = support::folded(&[]);
    let settings = Settings { context_keys: context.keys().cloned().collect::<BTreeSet<_>>(), ..Settings::default() };
    let now = Timestamp(1_700_000_000_000_000);
    let started = Started {
        settings: Arc::new(settings),
        context,
        agent: None,
        model: Some(Arc::clone(&reason)),
        system_prompt: None,
        messages: messages.into_iter().map(Arc::new).collect(),
        actor: Actor::default(),
        session,
        trace: None,
    };
    run.step(Input::Started(Box::new(started)), now).unwrap();
    let Input::Replied(mut replied) = support::inputs::second_reply() else { unreachable!("it is a reply") };
    let calls = replied.reply.iter_mut().flat_map(|reply| &mut reply.calls);
    calls.filter_map(|call| call.tool.as_mut()).for_each(|facts| facts.definition = definition.clone());
    run.step(Input::Replied(replied), now).unwrap();
    let confirm = Decision::Confirm(Ground::reason(reason), terms);
    let decisions = vec![(CallIndex(0), confirm), (CallIndex(1), Decision::allow())];
    run.step(Input::Authorized(Authorized::new(decisions)), now).unwrap();
    run
}

fn allow_first(run: &Run) -> Input {
    let answer = GivenAnswer::new(Answer::Approve, run.question_digest(CallIndex(0)));
    Input::Answered(Box::new(Answered {
        target: Target::Batch(run.batch()),
        actor: Actor::default(),
        answers: vec![("look".into(), answer)],
        missing: Missing::Wait,
        context: Attributes::new(),
        request: None,
    }))
}

const SECRET: &str = "hunter2-in-a-result";

/// What tools, people and workers brought, replaced by something that can be looked for.
fn with_secret(entry: LogEntry) -> LogEntry {
    let secret = || Arc::new(ToolResult::success(SECRET));
    let event = match entry.event {
        Event::ToolEnded { call, settlement } => {
            Event::ToolEnded { call, settlement: Settlement { result: secret(), ..settlement } }
        }
        Event::EvidenceGiven { call, attempt, worker, .. } => {
            Event::EvidenceGiven { call, attempt, worker, result: secret() }
        }
        Event::CallAnswered(mut answered) => {
            answered.answer = match answered.answer {
                Answer::Supply(_) => Answer::Supply(secret()),
                Answer::Happened(_) => Answer::Happened(secret()),
                other => other,
            };
            Event::CallAnswered(answered)
        }
        other => other,
    };
    LogEntry { event, ..entry }
}

proptest! {
    #[test]
    fn events_read_back(entry in entry()) {
        let stored = encode_event(&entry);
        let back = decode_event(&stored).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{entry:?}"));
        prop_assert_eq!(encode_event(&back), stored);
    }

    #[test]
    fn results_read_back(result in result()) {
        let back = result_from_text(&result_to_text(&result)).unwrap();
        prop_assert!(back.same_as(&result));
        prop_assert_eq!(back.metadata, result.metadata);
    }

    #[test]
    fn grants_read_back(grant in grant()) {
        let stored = encode_grant(&grant);
        let back = decode_grant(&stored).unwrap();
        prop_assert_eq!(&back, &grant);
        prop_assert_eq!(encode_grant(&back), stored);
        let scope = match grant.scope {
            GrantScope::Run(_) => "run",
            GrantScope::Session(_) => "session",
            GrantScope::Tenant => "tenant",
        };
        prop_assert_eq!(&serde_json::to_value(GrantView::of(&grant)).unwrap()["scope"], scope);
    }

    #[test]
    fn deliveries_read_back(settlement in settlement()) {
        let stored = encode_delivery(&settlement);
        let back = decode_delivery(&stored).unwrap();
        prop_assert_eq!(format!("{back:?}"), format!("{settlement:?}"));
        prop_assert_eq!(encode_delivery(&back), stored);
    }

    #[test]
    fn tasks_read_back(
        messages in vec(message(), 0..3),
        name in text(),
        context in btree_map(text(), any::<i32>().prop_map(|n| JsonText::new(n.to_string())), 0..3),
        definition in prop::option::of(text()),
    ) {
        let mut run = paused(messages, name, context, (Terms::default(), None, definition.clone()));
        run.step(allow_first(&run), Timestamp(0)).unwrap();
        for call in [CallIndex(0), CallIndex(1)] {
            run.step(Input::Deferred(Deferred { call, recheck: None }), Timestamp(0)).unwrap();
        }
        for (task, index) in tasks(&run).iter().zip(0..) {
            let stored = decode_task(&encode_task(&run, CallIndex(index), None).unwrap()).unwrap();
            prop_assert_eq!(stored.task.to_json(), task.to_json());
            prop_assert_eq!(stored.task.arguments.expose(), task.arguments.expose());
            prop_assert_eq!(stored.context, Context::from_stored(run.context()).with_run_id(run.id().clone()));
            prop_assert_eq!(&stored.settings, run.settings());
            prop_assert_eq!(&stored.tool.definition, &definition);
        }
    }

    #[test]
    fn audit_documents_read_back_and_hold_nothing_that_tools_said(
        log in vec(entry(), 1..6),
        at in any::<i32>(),
    ) {
        let log: Vec<LogEntry> = log.into_iter().map(with_secret).collect();
        let run = support::folded(&log);
        if let Some(document) = audit::encode(&run, &log, Timestamp(i64::from(at))) {
            let back = audit::decode(&document).unwrap();
            prop_assert!(!back.entries.is_empty());
            prop_assert_eq!(back.at.0, Timestamp(i64::from(at)));
            let text = String::from_utf8(document).unwrap();
            prop_assert!(!text.contains(SECRET), "{}", text);
        }
    }

    #[test]
    fn messages_read_back(message in message()) {
        let value = serde_json::to_value(message_view(&message)).unwrap();
        let back = support::read_message(&value).unwrap();
        prop_assert_eq!(serde_json::to_value(message_view(&back)).unwrap(), value);
    }

    #[test]
    fn continuations_read_back_and_stay_signed_however_they_are_written(
        messages in vec(message(), 0..5),
        reason in text(),
        context in btree_map(text(), any::<i32>().prop_map(|n| JsonText::new(n.to_string())), 0..3),
        asking in asking(),
    ) {
        let run = paused(messages, reason, context, asking);
        let keys = [SigningKey::new("k\"1", "secret")];
        let options = DumpOptions { key: Some(&keys[0]), ..DumpOptions::default() };
        let text = continuation::dump(&run, &options).unwrap();
        let check = LoadOptions { keys: &keys, ..LoadOptions::default() };
        let loaded = continuation::load(&text, &check).unwrap();
        prop_assert_eq!(loaded.trust, Trust::Signed);
        let there = imported_run(loaded.run_id, Arc::new(loaded.snapshot));
        prop_assert_eq!(continuation::dump(&there, &options).unwrap(), text.clone());
        // What was signed is canonical, so that it can be found again in any other writing of the same payload.
        let anew = canonical_json(&text).unwrap();
        prop_assert_eq!(continuation::load(&anew, &check).unwrap().trust, Trust::Signed);
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>(), bytes in vec(any::<u8>(), 0..80)) {
        let _ = decode_event(&bytes);
        let _ = decode_event(text.as_bytes());
        let _ = continuation::load(&bytes, &LoadOptions::default());
        let _ = holdpoint_codec::tasks::load(&text, &LoadOptions::default());
        let _ = decode_task(&bytes);
        let _ = decode_delivery(text.as_bytes());
        let _ = audit::decode(text.as_bytes());
        let _ = result_from_text(&text);
        let _ = decode_grant(&bytes);
        let _ = decode_grant(text.as_bytes());
        let _ = RememberRequest::from_json(&serde_json::json!({"until": text, "expires_in": text}));
        let _ = RememberRequest::from_json(&serde_json::json!({"expires_in": text}));
    }
}
