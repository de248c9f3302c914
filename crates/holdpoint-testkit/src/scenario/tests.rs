use super::*;

const LEAST: &str = "name: n\nsteps: []\n";

fn error(text: &str) -> ConfigError {
    parse(text, "s.yaml").expect_err(text)
}

/// The line and the key of what is wrong.
fn place(text: &str) -> (usize, String) {
    let error = error(text);
    let line = error.place().map_or(0, |place| place.line);
    (line, error.problem().map(|problem| problem.path().to_string()).unwrap_or_default())
}

#[test]
fn the_least_scenario_has_a_name_and_steps() {
    let scenario = parse(LEAST, "s.yaml").expect("a scenario");
    assert_eq!(scenario.name, "n");
    assert!(scenario.policy.policy.is_none());
    assert_eq!(error("name: n\n").to_string(), "s.yaml:1:1: the file needs `steps`");
    assert_eq!(error("steps: []\n").to_string(), "s.yaml:1:1: the file needs `name`");
}

#[test]
fn unknown_keys_are_errors_at_every_level() {
    let cases = [
        ("nmae: x\n", (3, "nmae")),
        ("agent: {max_turn: 3}\n", (3, "agent.max_turn")),
        ("agent: {executor: {rout: {}}}\n", (3, "agent.executor")),
        ("tools:\n  a:\n    deos: {}\n", (5, "tools.a.deos")),
        ("tools: {a: {does: {retrun: x}}}\n", (3, "tools.a.does.retrun")),
        ("policy:\n  - {tool: a, decide: allow}\n  - {tool: a, decide: allow, quorums: 2}\n", (5, "policy[1].quorums")),
        ("policy: [{tool: a, decide: allow, when: {/a: {more: 2}}}]\n", (3, "policy[0].when./a.more")),
        ("policy: [{tool: a, decide: allow, when: {/a: {any: {more: 2}}}}]\n", (3, "policy[0].when./a.any.more")),
        ("policy:\n  - tool: a\n    decide: allow\n    history:\n      cals: 2\n", (7, "policy[0].history.cals")),
        ("policy: [{tool: a, decide: allow, history: {sum: {/a: {gtt: 2}}}}]\n", (3, "policy[0].history.sum./a.gtt")),
        ("policy: [{tool: a, decide: allow, context: {roles: {has: b}}}]\n", (3, "policy[0].context.roles.has")),
        (
            "policy:\n  - {tool: a, decide: allow, example: [{decides: allow},\n      {decide: allow}]}\n",
            (5, "policy[0].example[1].decide"),
        ),
        ("hooks: [{caches: {}}]\n", (3, "hooks[0].caches")),
        ("hooks: [{rate_limit: {per_minute: 2}}]\n", (3, "hooks[0].rate_limit.per_minute")),
        ("hooks:\n  - cache:\n      ttl: 3\n", (5, "hooks[0].cache.ttl")),
        ("hooks: [{cache: {}}, {retry: {attempts: 2, delay: 3}}]\n", (3, "hooks[1].retry.delay")),
        ("model: [{txt: a}]\n", (3, "model[0].txt")),
        ("model: [{calls: [{id: a, name: b}]}]\n", (3, "model[0].calls[0].name")),
        ("model: [{usage: {in: 1}}]\n", (3, "model[0].usage.in")),
    ];
    for (text, (line, key)) in cases {
        let text = format!("{LEAST}{text}");
        assert_eq!(place(&text), (line, key.to_owned()), "{text}");
    }
}

#[test]
fn unknown_keys_in_steps_are_errors() {
    let cases = [
        ("{runs: {input: a}}", "steps[0].runs"),
        ("{run: {inputs: a}}", "steps[0].run.inputs"),
        ("{answer: {decision: {}}}", "steps[0].answer.decision"),
        ("{results: {results: {}, by: {id: a}}}", "steps[0].results.by"),
        ("{save: {as: a, context: []}}", "steps[0].save.context"),
        ("{clock: {advance: 3}}", "steps[0].clock.advance"),
        ("{crash: {before: intent}}", "steps[0].crash.before"),
        ("{cancel: {now: true}}", "steps[0].cancel.now"),
        ("{race: {n: 2, answers: {}}}", "steps[0].race.answers"),
        ("{run: {input: a}, expects: {}}", "steps[0].expects"),
        ("{run: {input: a}, expect: {stop: end_turn}}", "steps[0].expect.stop"),
        ("{run: {input: a}, expect: {messages: [{txt: a}]}}", "steps[0].expect.messages[0].txt"),
        ("{run: {input: a}, expect: {pending: [{tool_name: a}]}}", "steps[0].expect.pending[0].tool_name"),
        ("{run: {input: a}, expect: {records: [{code: a}]}}", "steps[0].expect.records[0].code"),
        ("{run: {input: a}, expect: {usage: {sum: 1}}}", "steps[0].expect.usage.sum"),
        ("{run: {input: a}, expect: {continuation: {fresh: true}}}", "steps[0].expect.continuation.fresh"),
    ];
    for (step, key) in cases {
        let text = format!("name: n\nsteps:\n  - {step}\n");
        assert_eq!(place(&text), (3, key.to_owned()), "{text}");
    }
}

#[test]
fn bad_types_are_errors_with_their_line() {
    let cases = [
        ("agent: {max_turns: many}", "agent.max_turns"),
        ("agent: {max_turns: -1}", "agent.max_turns"),
        ("agent: {max_turns: 1.5}", "agent.max_turns"),
        ("agent: {recheck_policy: yes}", "agent.recheck_policy"),
        ("agent: {siblings: wait}", "agent.siblings"),
        ("agent: {context_keys: user}", "agent.context_keys"),
        ("agent: {max_concurrency: lots}", "agent.max_concurrency"),
        ("agent: []", "agent"),
        ("tools: [a]", "tools"),
        ("tools: {a: {repeat: always}}", "tools.a.repeat"),
        ("tools: {a: {does: []}}", "tools.a.does"),
        ("policy: some", "policy"),
        ("policy: [{tool: a, decide: perhaps}]", "policy[0].decide"),
        ("policy: [{tool: a, decide: confirm, quorum: many}]", "policy[0].quorum"),
        ("policy: [{tool: a, decide: confirm, approvers: [a, [b]]}]", "policy[0].approvers[1]"),
        ("policy: [{tool: a, decide: allow, when: {/a: {in: 3}}}]", "policy[0].when./a.in"),
        ("policy: [{tool: a, decide: allow, example: [{decides: 3}]}]", "policy[0].example[0].decides"),
        ("policy: [{decide: allow}]", "policy[0]"),
        ("policy: [a]", "policy[0]"),
        ("hooks: {cache: {}}", "hooks"),
        ("hooks: [{cache: {}, dry_run: {}}]", "hooks[0]"),
        ("hooks: [{}]", "hooks[0]"),
        ("hooks: [{concurrency: {}}]", "hooks[0].concurrency"),
        ("hooks: [{concurrency: {max: two}}]", "hooks[0].concurrency.max"),
        ("hooks: [{rate_limit: {per_second: 1.5}}]", "hooks[0].rate_limit.per_second"),
        ("hooks: [{rate_limit: {per_second: 1, per: day}}]", "hooks[0].rate_limit.per"),
        ("model: {text: a}", "model"),
        ("model: [{fail: a, text: b}]", "model[0]"),
    ];
    for (line, key) in cases {
        assert_eq!(place(&format!("{LEAST}{line}\n")), (3, key.to_owned()), "{line}");
    }
}

#[test]
fn bad_steps_are_errors() {
    let cases = [
        ("{expect: {}}", "steps[0]"),
        ("{cancel: {}, retry: {}}", "steps[0]"),
        ("run", "steps[0]"),
        ("{edit: {of: a, path: /x, value: 1}}", "steps[0]"),
        ("{answer: {from: a}}", "steps[0]"),
        ("{run: {input: a}, expect: {continuation: {parent: a}}}", "steps[0]"),
        ("{crash: {after: lunch}}", "steps[0].crash.after"),
        ("{race: {n: 0, answer: {}}}", "steps[0].race.n"),
        ("{race: {n: 2}}", "steps[0].race"),
        ("{run: {input: a}, expect: {messages: [{matches: '('}]}}", "steps[0].expect.messages[0].matches"),
        ("{run: {input: a}, expect: {executed: 3}}", "steps[0].expect.executed"),
        ("{run: {input: a}, expect: {turns: two}}", "steps[0].expect.turns"),
    ];
    for (step, key) in cases {
        assert_eq!(place(&format!("name: n\nsteps:\n  - {step}\n")), (3, key.to_owned()), "{step}");
    }
}

#[test]
fn a_near_key_is_suggested() {
    assert_eq!(
        error(&format!("{LEAST}agent: {{max_turn: 3}}\n")).to_string(),
        "s.yaml:3:9: `agent.max_turn` is an unknown key\nhint: did you mean `max_turns`?"
    );
}

#[test]
fn arguments_are_the_raw_text() {
    let script = "model: [{calls: [{tool: a}, {tool: a, arguments: '{\"b\": '}, {tool: a, arguments: {n: 12345678901234567890123, f: 1.0}}, {tool: a, arguments: null}, {tool: a, arguments: [1]}]}]\n";
    let scenario = parse(&format!("{LEAST}{script}"), "s.yaml").expect("a scenario");
    let ScriptedReply::Say(say) = &scenario.model[0].0 else { panic!("a reply") };
    let texts: Vec<Option<&str>> = say.calls.iter().map(|call| call.arguments.as_deref()).collect();
    assert_eq!(
        texts,
        [None, Some("{\"b\": "), Some("{\"n\":12345678901234567890123,\"f\":1.0}"), Some("null"), Some("[1]")]
    );
}

#[test]
fn unions_are_read_in_each_form() {
    let text = "
name: n
agent: {executor: {route: {'a*': threads, '*': inline}}, max_concurrency: none}
tools: {a: {does: [{return: one}, {sleep_ms: 5, fail: two}, {hang: true}]}, b: }
policy: broken
hooks: [{cache: {}}, {fail: boom}, {cache: }]
model: [{nothing: true}, {fail: down}, {text: null}]
steps:
  - policy: none
  - tools: {}
  - crash:
";
    let scenario = parse(text, "s.yaml").expect("a scenario");
    let Flatten(_, settings) = scenario.agent;
    let executor = settings.settings().executor;
    assert_eq!((executor.routes.len(), executor.max_concurrency), (2, None));
    let Named(tools) = &scenario.tools;
    assert_eq!(tools[0].1.does.as_ref().map(|script| script.0.len()), Some(3));
    assert!(scenario.policy.policy.is_some());
    assert_eq!(scenario.hooks[1], HookSpec::Fail("boom".to_owned()));
    assert_eq!(scenario.hooks[0], scenario.hooks[2]);
    let replies: Vec<&ScriptedReply> = scenario.model.iter().map(|reply| &reply.0).collect();
    assert!(matches!(replies[..], [ScriptedReply::Nothing, ScriptedReply::Fail(_), ScriptedReply::Say(_)]));
    assert!(matches!(&scenario.steps[2], Flatten(_, Action::Crash(spec)) if spec.after.is_none()));
}

#[test]
fn an_explicit_null_is_a_value() {
    let text = format!("{LEAST}tools: {{a: {{does: {{return_json: null}}}}}}\n");
    let scenario = parse(&text, "s.yaml").expect("a scenario");
    let does = &scenario.tools.0[0].1.does.as_ref().expect("a script").0[0];
    assert_eq!(does.return_json.as_ref().map(|json| json.0.as_str()), Some("null"));
    let edit = "name: n\nsteps:\n  - save: {as: a}\n  - edit: {of: a, path: /x, value: null}\n";
    assert!(parse(edit, "s.yaml").is_ok());
    assert_eq!(place(&edit.replace(", value: null", "")), (4, "steps[1].edit".to_owned()));
}

#[test]
fn a_file_above_the_limit_is_not_read() {
    assert!(error(&" ".repeat(SCENARIO_BYTES_MAX + 1)).to_string().contains("8388608"));
}

#[test]
fn nonsense_never_panics() {
    for text in [
        "",
        "[]",
        "7",
        "name",
        "name: [",
        "\u{0}",
        "name: n\nsteps: {}",
        "&a [*a]",
        "? [a]\n: b",
        "!!binary x",
        "%YAML 9\n---\na",
    ] {
        assert!(parse(text, "s.yaml").is_err(), "{text:?}");
    }
}

#[test]
fn a_misspelt_key_of_a_rule_is_told_with_the_key_that_was_meant() {
    for (rule, hint) in [
        ("{tool: a, decide: confirm, aprovers: [b]}", "did you mean `approvers`?"),
        ("{tool: a, decide: confirm, expires: 4h}", "`policy[0].expires` is an unknown key"),
        ("{tool: a, decide: allow, when: {/a: {start_with: b}}}", "did you mean `starts_with`?"),
        ("{tool: a, decide: allow, example: [{argument: {}, decides: allow}]}", "did you mean `arguments`?"),
    ] {
        let message = error(&format!("{LEAST}policy: [{rule}]\n")).to_string();
        assert!(message.contains(hint), "{message}");
    }
}
