//! Rules about what somebody who sees a part can see: what is outside is not there.

use holdpoint_core::{CallIndex, Revision, RunId, Status, ToolName, Turn};

use super::desk::{Desk, key, opens, task};
use super::{Checked, Fixture, create, expect, must};
use crate::{
    GrantOpening, HeadUpdate, QuestionChange, QuestionKind, QuestionOpening, Scope, Store, StoreError, Transition,
};

async fn make(desk: &Desk, name: &str, at: Revision, tenant: Option<&str>) -> Checked {
    let head = HeadUpdate { tenant: tenant.map(Into::into), ..HeadUpdate::new(Status::AwaitingToolResults) };
    let question = QuestionOpening {
        turn: Turn(1),
        index: CallIndex(1),
        tool: ToolName::new("pay"),
        kind: QuestionKind::Permission,
        deadline: None,
        body: b"question".to_vec(),
    };
    let grant = GrantOpening { id: name.into(), tool: ToolName::new("pay"), until: None, body: b"grant".to_vec() };
    let step = Transition {
        tasks: vec![opens(task(0, "mail"))],
        audit: Some(b"audit".to_vec()),
        grants: vec![grant],
        questions: vec![QuestionChange::Open(Box::new(question))],
        ..Transition::new(vec![b"first".to_vec()], head, desk.now())
    };
    must("commit", desk.store.runs.commit(&RunId::new(name), at, step).await)?;
    Ok(())
}

/// What of a run somebody sees: head, records, audit log, task, question, grant.
async fn seen(store: &Store, scope: &Scope, run: &RunId) -> Result<[bool; 6], String> {
    let loaded = match store.runs.load(scope, run, Revision(0)).await {
        Err(StoreError::NotFound { .. }) => false,
        loaded => !must("load", loaded)?.is_empty(),
    };
    Ok([
        must("head", store.runs.head(scope, run).await)?.is_some(),
        loaded,
        !must("audit", store.audit.rows(scope, run).await)?.is_empty(),
        must("task", store.tasks.find(scope, &key(run, 0)).await)?.is_some(),
        must("question", store.approvals.find(scope, &key(run, 1)).await)?.is_some(),
        must("grant", store.grants.find(scope, run.as_str()).await)?.is_some(),
    ])
}

/// A tenant sees what is its own, all of it, and nothing else; whoever sees everything sees that.
pub async fn what_is_outside_a_scope_is_not_there(Fixture { store, clock, .. }: Fixture) -> Checked {
    let desk = Desk { store, clock };
    let runs = [("own", Some("acme")), ("foreign", Some("other")), ("nobodys", None)];
    for (name, tenant) in runs {
        make(&desk, name, Revision(0), tenant).await?;
    }
    // What another is called never matters: a tenant may be called like the text of none.
    let scopes = ["acme", "other", "", "=", "=acme"].map(|tenant| Scope::Tenant(tenant.into()));
    for scope in scopes.into_iter().chain([Scope::All]) {
        for (name, tenant) in runs {
            let wanted = [scope.covers(tenant); 6];
            let seen = seen(&desk.store, &scope, &RunId::new(name)).await?;
            expect(seen == wanted, || format!("{scope:?} sees {seen:?} of `{name}`, not {wanted:?}"))?;
        }
        let unknown = seen(&desk.store, &scope, &RunId::new("unknown")).await?;
        expect(unknown == [false; 6], || format!("{scope:?} sees {unknown:?} of what is not there"))?;
    }
    Ok(())
}

/// A run belongs to the agent and the tenant of its first commit, with everything that later commits add, whatever they say.
pub async fn a_run_stays_with_its_first_tenant(Fixture { store, clock, .. }: Fixture) -> Checked {
    let (desk, run) = (Desk { store, clock }, RunId::new("run"));
    let head = HeadUpdate {
        agent: Some("support".into()),
        tenant: Some("acme".into()),
        ..HeadUpdate::new(Status::AwaitingToolResults)
    };
    create(&desk.store, &run, head).await?;
    make(&desk, "run", Revision(1), Some("other")).await?;
    for (tenant, sees) in [("acme", true), ("other", false)] {
        let seen = seen(&desk.store, &Scope::Tenant(tenant.into()), &run).await?;
        expect(seen == [sees; 6], || format!("tenant `{tenant}` sees {seen:?} of the run"))?;
    }
    let (task, question) = (key(&run, 0), key(&run, 1));
    let task = must("task", desk.store.tasks.find(&Scope::All, &task).await)?.map(|task| task.agent);
    let question = must("question", desk.store.approvals.find(&Scope::All, &question).await)?.map(|row| row.agent);
    let agent = Some("support".into());
    expect(task == agent && question == agent, || format!("the agents are {task:?} and {question:?}"))
}
