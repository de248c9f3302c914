//! Rules about what somebody who sees a part can see: what is outside is not there.

use holdpoint_core::{CallIndex, Revision, RunId, Status, ToolName, Turn};

use super::desk::{Desk, key, opens, task};
use super::{Checked, Fixture, expect, must};
use crate::{
    GrantOpening, HeadUpdate, QuestionChange, QuestionKind, QuestionOpening, Scope, Store, StoreError, Transition,
};

async fn make(desk: &Desk, name: &str, tenant: Option<&str>) -> Checked {
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
    must("commit", desk.store.runs.commit(&RunId::new(name), Revision(0), step).await)?;
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
        make(&desk, name, tenant).await?;
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
