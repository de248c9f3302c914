//! Rules about grants.

use holdpoint_core::{Revision, RunId, Timestamp, ToolName};

use super::desk::closes;
use super::{Checked, Fixture, START, at, expect, must, step_at};
use crate::{
    Clock, Cursor, Fence, GRANTS_MATCHED_MAX, GrantFilter, GrantOpening, GrantRow, Revoked, Store, StoreError,
    TaskGuard, Transition,
};

fn opening(id: &str, tool: &str, until: Option<Timestamp>) -> GrantOpening {
    GrantOpening { id: id.into(), tool: ToolName::new(tool), until, body: format!("body of {id}").into_bytes() }
}

fn granting(tenant: Option<&str>, grants: Vec<GrantOpening>) -> Transition {
    let mut step = step_at(&[b"x"], START);
    step.head.tenant = tenant.map(Into::into);
    Transition { grants, ..step }
}

/// A run of this name that makes these grants.
async fn grant(store: &Store, run: &str, tenant: Option<&str>, grants: Vec<GrantOpening>) -> Checked {
    must("commit", store.runs.commit(&RunId::new(run), Revision(0), granting(tenant, grants)).await)?;
    Ok(())
}

fn names(rows: &[GrantRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.id).collect()
}

async fn expect_matched(store: &Store, tenant: Option<&str>, tool: &str, wanted: &[&str]) -> Checked {
    let rows = must("grants", store.grants.matching(tenant, &ToolName::new(tool)).await)?;
    expect(names(&rows) == wanted, || format!("{tenant:?} has {:?} for `{tool}`, not {wanted:?}", names(&rows)))
}

/// A grant is there as it was made once its transition is, and not when that was refused.
pub async fn a_grant_is_made_with_its_transition(fixture: Fixture) -> Checked {
    let store = fixture.store.clone();
    let until = fixture.clock.now().plus_ms(60_000);
    let grants = vec![opening("first", "pay", Some(until)), opening("second", "mail", None)];
    grant(&store, "run", Some("acme"), grants).await?;
    let stale = store.runs.commit(&RunId::new("run"), at(0), granting(None, vec![opening("stale", "pay", None)])).await;
    expect(stale.is_err(), || "a stale commit was accepted".to_owned())?;
    let mut lost = granting(None, vec![opening("lost", "pay", None)]);
    lost.tasks = vec![closes(0, TaskGuard::Leased(Fence(7)))];
    let lost = store.runs.commit(&RunId::new("run"), at(1), lost).await;
    expect(lost.is_err(), || "a commit without its lease was accepted".to_owned())?;
    // A later transition of the same run may have grants too.
    let later = granting(Some("acme"), vec![opening("third", "pay", None)]);
    must("commit", store.runs.commit(&RunId::new("run"), at(1), later).await)?;
    drop(store);

    let fixture = fixture.reopened().await;
    let store = &fixture.store;
    let rows = must("grants", store.grants.list(&GrantFilter::default()).await)?.items;
    let row = |id: &str, tool: &str, until| GrantRow {
        id: id.into(),
        tenant: Some("acme".into()),
        tool: ToolName::new(tool),
        until,
        created_at: START,
        revoked: None,
        body: format!("body of {id}").into_bytes().into(),
    };
    let wanted = [row("third", "pay", None), row("second", "mail", None), row("first", "pay", Some(until))];
    expect(rows == wanted, || format!("the grants are {rows:?}"))
}

/// A call sees the grants of its tenant for its tool, the newest first: none of another tenant, none that was taken back,
/// none past its time.
pub async fn grants_match_tenant_tool_and_time(Fixture { store, clock, .. }: Fixture) -> Checked {
    let soon = clock.now().plus_ms(10);
    grant(&store, "1", Some("acme"), vec![opening("a", "pay", None), opening("b", "pay", Some(soon))]).await?;
    grant(&store, "2", Some("acme"), vec![opening("c", "mail", None), opening("d", "pay", None)]).await?;
    grant(&store, "3", Some("other"), vec![opening("e", "pay", None)]).await?;
    grant(&store, "4", None, vec![opening("f", "pay", None)]).await?;
    expect_matched(&store, Some("acme"), "pay", &["d", "b", "a"]).await?;
    expect_matched(&store, Some("acme"), "mail", &["c"]).await?;
    expect_matched(&store, Some("acme"), "Pay", &[]).await?;
    expect_matched(&store, Some("other"), "pay", &["e"]).await?;
    expect_matched(&store, None, "pay", &["f"]).await?;
    expect_matched(&store, Some(""), "pay", &[]).await?;
    clock.advance_ms(10);
    expect_matched(&store, Some("acme"), "pay", &["d", "a"]).await?;

    for (tenant, id, wanted) in [
        (Some("other"), "d", false),
        (None, "d", false),
        (Some("acme"), "nobody's", false),
        (Some("acme"), "d", true),
        (Some("acme"), "d", false),
    ] {
        let revoked = must("revoking", store.grants.revoke(tenant, id, "ana").await)?;
        expect(revoked == wanted, || format!("revoking `{id}` of {tenant:?} gave {revoked}"))?;
    }
    expect_matched(&store, Some("acme"), "pay", &["a"]).await?;
    expect_matched(&store, None, "pay", &["f"]).await?;
    let filter = GrantFilter { tenant: Some("acme".into()), ..GrantFilter::default() };
    let rows = must("grants", store.grants.list(&filter).await)?.items;
    expect(names(&rows) == ["d", "c", "b", "a"], || format!("the grants are {rows:?}"))?;
    let wanted = Revoked { by: "ana".into(), at: clock.now() };
    expect(rows[0].revoked == Some(wanted), || format!("it was revoked by {:?}", rows[0].revoked))?;
    expect(rows[1].revoked.is_none(), || "another one was revoked too".to_owned())
}

/// A call looks at no more than the newest few.
pub async fn only_the_newest_grants_are_matched(Fixture { store, .. }: Fixture) -> Checked {
    let all: Vec<GrantOpening> =
        (0..GRANTS_MATCHED_MAX + 3).map(|number| opening(&number.to_string(), "pay", None)).collect();
    grant(&store, "run", None, all).await?;
    let rows = must("grants", store.grants.matching(None, &ToolName::new("pay")).await)?;
    let newest: Vec<String> = (3..GRANTS_MATCHED_MAX + 3).rev().map(|number| number.to_string()).collect();
    expect(names(&rows) == newest, || format!("{} grants matched, or not the newest", rows.len()))
}

/// Grants are listed the newest first, page by page, by tenant and by tool.
pub async fn grants_are_listed_in_pages(Fixture { store, .. }: Fixture) -> Checked {
    for number in 0..7 {
        let (tenant, tool) = (["acme", "other"][number % 2], ["pay", "mail", "pay"][number % 3]);
        let id = number.to_string();
        grant(&store, &id, Some(tenant), vec![opening(&id, tool, None)]).await?;
    }
    let cases: [(Option<&str>, Option<&str>, Vec<&str>); 5] = [
        (None, None, vec!["6", "5", "4", "3", "2", "1", "0"]),
        (Some("acme"), None, vec!["6", "4", "2", "0"]),
        (None, Some("mail"), vec!["4", "1"]),
        (Some("acme"), Some("pay"), vec!["6", "2", "0"]),
        (Some("nobody"), None, vec![]),
    ];
    for (tenant, tool, wanted) in cases {
        for limit in [1, 2, 3, 100] {
            let mut filter = GrantFilter {
                tenant: tenant.map(Into::into),
                tool: tool.map(ToolName::new),
                limit: Some(limit),
                cursor: None,
            };
            let mut seen: Vec<String> = Vec::new();
            loop {
                let page = must("grants", store.grants.list(&filter).await)?;
                expect(page.items.len() <= limit, || format!("a page of {limit} has {:?}", page.items))?;
                seen.extend(page.items.iter().map(|row| row.id.to_string()));
                filter.cursor = page.next;
                if filter.cursor.is_none() || seen.len() > wanted.len() {
                    break;
                }
            }
            expect(seen == wanted, || format!("{tenant:?} and {tool:?} in pages of {limit} are {seen:?}"))?;
        }
    }
    let foreign = GrantFilter { cursor: Some(Cursor::new("nobody's")), ..GrantFilter::default() };
    let refused = store.grants.list(&foreign).await;
    expect(matches!(refused, Err(StoreError::InvalidCursor)), || format!("a foreign cursor gave {refused:?}"))
}
