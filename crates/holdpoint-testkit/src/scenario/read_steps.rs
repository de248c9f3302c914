//! The steps of a scenario.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    Action, CrashPoint, EditSpec, Entry, Forget, Names, PersonSpec, ResumeKind, ResumeSpec, RunSpec, SaveSpec, Step,
    read, read_rules,
};
use crate::expect;
use crate::reader::{At, Read};

pub(super) fn steps(at: &At<'_>) -> Read<Vec<Step>> {
    let mut saved = BTreeSet::new();
    let mut steps = Vec::new();
    for at in at.list()? {
        let step = step(&at)?;
        for name in names_used(&step) {
            if !saved.contains(name) {
                return Err(at.problem(format!("nothing is saved as `{name}` before this step")));
            }
        }
        if let Action::Save(save) = &step.action {
            saved.insert(save.name.clone());
        }
        steps.push(step);
    }
    Ok(steps)
}

/// The saved names that a step relies on.
fn names_used(step: &Step) -> impl Iterator<Item = &str> {
    let own = match &step.action {
        Action::Resume(resume) | Action::Race { resume, .. } => resume.from.as_deref(),
        Action::Edit(edit) => Some(&*edit.of),
        _ => None,
    };
    own.into_iter().chain(step.expect.parent())
}

fn step(at: &At<'_>) -> Read<Step> {
    let mut fields = at.fields()?;
    let expect = fields.optional("expect", expect::read)?.unwrap_or_default();
    let actions = [
        fields.optional("run", run)?,
        fields.optional("answer", |at| resume(at, ResumeKind::Answer))?.map(Action::Resume),
        fields.optional("results", |at| resume(at, ResumeKind::Results))?.map(Action::Resume),
        fields.optional("save", save)?,
        fields.optional("edit", edit)?,
        fields.optional("policy", read_rules::policy)?.map(Action::Policy),
        fields.optional("tools", read::tools)?.map(Action::Tools),
        fields.optional("clock", clock)?,
        fields.optional("crash", crash)?,
        fields.optional("cancel", |at| read::nothing(at).map(|()| Action::Cancel))?,
        fields.optional("retry", |at| read::nothing(at).map(|()| Action::Retry))?,
        fields.optional("race", race)?,
    ];
    fields.finish()?;
    let mut actions = actions.into_iter().flatten();
    match (actions.next(), actions.next()) {
        (Some(action), None) => Ok(Step { line: at.node.line, action, expect }),
        (None, _) => Err(at.problem("a step needs one action beside `expect`")),
        (Some(one), Some(other)) => {
            Err(at.problem(format!("a step has one action, this has `{}` and `{}`", one.name(), other.name())))
        }
    }
}

fn run(at: &At<'_>) -> Read<Action> {
    let mut fields = at.fields_or_nothing()?;
    let run = RunSpec {
        input: fields.optional("input", At::text)?.unwrap_or_default(),
        context: fields.optional("context", attributes)?.unwrap_or_default(),
        by: fields.optional("by", person)?,
        session: fields.optional("session", At::text)?,
        entry: fields.optional("stream", entry)?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(Action::Run(run))
}

fn entry(at: &At<'_>) -> Read<Entry> {
    Ok(if at.flag()? { Entry::Stream } else { Entry::Plain })
}

fn attributes(at: &At<'_>) -> Read<Vec<(String, Value)>> {
    Ok(at.entries()?.into_iter().map(|(key, at)| (key.text.clone(), at.node.to_value())).collect())
}

fn resume(at: &At<'_>, kind: ResumeKind) -> Read<ResumeSpec> {
    let mut fields = at.fields_or_nothing()?;
    let key = match kind {
        ResumeKind::Answer => "decisions",
        ResumeKind::Results => "results",
    };
    let resume = ResumeSpec {
        kind,
        entries: fields
            .optional(key, |at| {
                Ok(at.entries()?.into_iter().map(|(key, at)| (key.text.clone(), at.node.clone())).collect())
            })?
            .unwrap_or_default(),
        partial: fields.optional("partial", At::flag)?.unwrap_or(false),
        from: fields.optional("from", At::text)?,
        names: match kind {
            ResumeKind::Answer => fields.optional("names", names)?.unwrap_or_default(),
            ResumeKind::Results => Names::Continuation,
        },
        by: match kind {
            ResumeKind::Answer => fields.optional("by", person)?,
            ResumeKind::Results => None,
        },
        context: fields.optional("context", attributes)?.unwrap_or_default(),
        entry: fields.optional("stream", entry)?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(resume)
}

fn names(at: &At<'_>) -> Read<Names> {
    at.word(&[("continuation", Names::Continuation), ("batch", Names::Batch)])
}

fn person(at: &At<'_>) -> Read<PersonSpec> {
    let mut fields = at.fields()?;
    let id = fields.optional("id", At::text_or_nothing)?.flatten();
    let roles = fields.optional("roles", At::texts)?.unwrap_or_default();
    let tenant = fields.optional("tenant", At::text)?;
    fields.finish()?;
    Ok(PersonSpec { id, roles, tenant })
}

fn save(at: &At<'_>) -> Read<Action> {
    let mut fields = at.fields()?;
    let name = fields.required("as", At::text)?;
    let context_keys = fields.optional("context_keys", At::texts)?;
    let forget = match fields.optional("fresh", At::flag)? {
        Some(true) => Forget::Store,
        Some(false) | None => Forget::Objects,
    };
    fields.finish()?;
    Ok(Action::Save(SaveSpec { name, context_keys, forget }))
}

fn edit(at: &At<'_>) -> Read<Action> {
    let mut fields = at.fields()?;
    let of = fields.required("of", At::text)?;
    let pointer = fields.required("path", pointer)?;
    let value = fields.take("value").map(|at| at.node.to_json_text());
    let remove = fields.optional("remove", At::flag)?.unwrap_or(false);
    fields.finish()?;
    if value.is_some() == remove {
        return Err(at.problem("an edit needs either `value` or `remove: true`"));
    }
    Ok(Action::Edit(EditSpec { of, pointer, value }))
}

pub(crate) fn pointer(at: &At<'_>) -> Read<String> {
    let text = at.text()?;
    if text.is_empty() || text.starts_with('/') {
        return Ok(text);
    }
    Err(at.problem(format!("a JSON pointer begins with `/`, found `{text}`")))
}

fn clock(at: &At<'_>) -> Read<Action> {
    let mut fields = at.fields()?;
    let advance_ms = fields.required("advance_ms", At::whole)?;
    fields.finish()?;
    Ok(Action::Clock { advance_ms })
}

fn crash(at: &At<'_>) -> Read<Action> {
    let words = [("intent", CrashPoint::AfterIntent), ("effect", CrashPoint::AfterEffect)];
    let mut fields = at.fields_or_nothing()?;
    let point = fields.optional("after", |at| at.word(&words))?;
    fields.finish()?;
    Ok(Action::Crash(point))
}

fn race(at: &At<'_>) -> Read<Action> {
    let mut fields = at.fields()?;
    let n = fields.required("n", |at| match at.whole_u32()? {
        0 => Err(at.problem("a race needs at least one runner")),
        n => Ok(n),
    })?;
    let answer = fields.optional("answer", |at| resume(at, ResumeKind::Answer))?;
    let results = fields.optional("results", |at| resume(at, ResumeKind::Results))?;
    fields.finish()?;
    match (answer, results) {
        (Some(resume), None) | (None, Some(resume)) => Ok(Action::Race { n, resume }),
        _ => Err(at.problem("a race needs either `answer` or `results`")),
    }
}
