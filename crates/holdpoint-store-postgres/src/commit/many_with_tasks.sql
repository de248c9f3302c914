with moment as materialized (
    select coalesce($20::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now
), input as materialized (
    select i.*, now + lease_ms * 1000 as lease_until, now
    from moment, unnest(
        $1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::smallint[], $6::bigint[], $7::bigint[], $8::text[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bytea[], $14::text[], $15::text[], $16::bytea[],
        $17::text[], $18::boolean[], $19::text[]
    ) as i(n, run_id, at, next, status, pause, deadline, owner, lease_ms, moved_at, token, body, audit, agent, tenant,
        link, session, alone, last_run)
), change as materialized (
    select * from unnest($21::bigint[], $22::bigint[], $23::bigint[], $24::smallint[], $25::bigint[], $26::boolean[])
        as c(n, turn, call_index, guard, fence, drops)
), opening as materialized (
    select * from unnest(
        $27::bigint[], $28::bigint[], $29::bigint[], $30::text[], $31::bigint[], $32::bigint[], $33::smallint[],
        $34::bigint[], $35::bytea[]
    ) as o(n, turn, call_index, tool, attempts, attempts_max, repeat, deadline, body)
), granting as materialized (
    select * from unnest($36::bigint[], $37::text[], $38::text[], $39::bigint[], $40::bytea[])
        with ordinality as g(n, grant_id, tool, until, body, nth)
), asking as materialized (
    select * from unnest(
        $41::bigint[], $42::bigint[], $43::bigint[], $44::text[], $45::smallint[], $46::smallint[], $47::bigint[],
        $48::boolean[], $49::bytea[], $50::bytea[]
    ) with ordinality as a(n, turn, call_index, tool, kind, status, deadline, anew, body, note, nth)
), ending as materialized (
    select * from unnest($51::bigint[], $52::bigint[], $53::bigint[], $54::smallint[], $55::bytea[])
        as e(n, turn, call_index, status, note)
), run as materialized (
    -- After a wait for a lock, rows are read again here and nowhere below: everything is decided from what is locked.
    select i.n, i.next, i.status, i.pause, i.deadline, i.owner, i.lease_until, i.lease_ms, i.moved_at, i.token, i.body,
        i.audit, i.now, r.agent, r.tenant, r.run_no, r.audit_revision, r.audit_rows, r.audit_link
    from input i join holdpoint_runs r on r.run_id = i.run_id and r.revision = i.at
    where i.at > 0
    order by r.run_no
    for update of r
), found as materialized (
    select c.n, c.turn, c.call_index, c.drops, t.task_no
    from run join change c on c.n = run.n cross join lateral (
        select task_no from holdpoint_tasks
        where run_no = run.run_no and turn = c.turn and call_index = c.call_index
        offset 0) t
), locked as materialized (
    select task_no, state, fence, ready_at from holdpoint_tasks
    where task_no = any(array(select task_no from found))
    order by task_no
    for update
), held as materialized (
    select f.n, f.turn, f.call_index, f.drops, l.task_no, l.state, l.fence, l.ready_at
    from found f join locked l on l.task_no = f.task_no
), lost as materialized (
    select distinct run.n
    from run join change c on c.n = run.n
        left join held h on h.n = c.n and h.turn = c.turn and h.call_index = c.call_index
    -- 1 waiting, 2 no result, 3 leased, 4 lapsed, 5 delivered.
    where (c.guard = 1 and h.state <> 0)
        or (c.guard = 2 and h.state = 2)
        or (c.guard in (3, 4) and (h.state is distinct from 1 or h.fence <> c.fence))
        or (c.guard = 4 and h.ready_at > run.now)
        or (c.guard = 5 and (h.state is distinct from 2 or h.fence <> c.fence))
), fit as materialized (
    select n, next, status, pause, deadline, owner, lease_until, lease_ms, moved_at, token, body, audit, now, agent, tenant,
        run_no, case when audit is null then audit_revision else next end as audit_revision,
        audit_rows + (audit is not null)::int as audit_rows,
        case when audit is null then audit_link
            else sha256(audit_link || int8send(next) || int8send(moved_at) || sha256(audit)) end as audit_link
    from run where run.n not in (select n from lost)
), moved as (
    update holdpoint_runs r
    set revision = f.next, status = f.status, pause = f.pause, deadline = f.deadline, owner = f.owner,
        lease_until = f.lease_until, lease_ms = f.lease_ms, updated_at = f.moved_at, last_commit = f.token,
        alone = r.alone and f.status < 3,
        audit_revision = f.audit_revision, audit_rows = f.audit_rows, audit_link = f.audit_link
    from fit f
    where r.run_no = f.run_no
), made as (
    insert into holdpoint_runs
        (run_id, revision, status, pause, deadline, owner, lease_until, lease_ms, created_at, updated_at, last_commit,
         agent, tenant, audit_revision, audit_rows, audit_link, session, alone)
    select run_id, next, status, pause, deadline, owner, lease_until, lease_ms, moved_at, moved_at, token,
        agent, tenant, case when audit is null then 0 else next end, (audit is not null)::int, link,
        session, alone and status < 3
    from input where at = 0
        and (last_run is null or last_run = coalesce((select l.run_id from holdpoint_runs l
            where l.session = input.session and l.tenant = input.tenant
            order by l.session desc, l.tenant desc, l.run_no desc limit 1), ''))
    on conflict do nothing
    returning run_no, run_id, audit_rows, audit_link
), kept as materialized (
    select n, run_no, next, moved_at, agent, tenant, now, body, audit, audit_rows, audit_link from fit
    union all
    select i.n, m.run_no, i.next, i.moved_at, i.agent, i.tenant, i.now, i.body, i.audit, m.audit_rows, m.audit_link
    from made m join input i on i.run_id = m.run_id
), logged as (
    insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
    select run_no, next, moved_at, body, audit, case when audit is not null then audit_rows end,
        case when audit is not null then audit_link end
    from kept
), granted as (
    insert into holdpoint_grants (grant_id, tenant, tool, until, created_at, last_request, body)
    select g.grant_id, k.tenant, g.tool, g.until, k.moved_at, 0, g.body
    from granting g join kept k on k.n = g.n
    order by g.nth
    -- A name that is there already stays as it is.
    on conflict (grant_id) do nothing
), anew as materialized (
    -- What was asked before ended in the same transition.
    select k.run_no, a.turn, a.call_index from kept k join asking a on a.n = k.n where a.anew
), asked as (
    -- A question that is pending keeps its beginning; one that ended begins anew.
    insert into holdpoint_approvals as q
        (run_no, turn, call_index, agent, tenant, tool, kind, status, deadline, due, asked_at, changed_at, asked_no, seq,
         body, note)
    select k.run_no, a.turn, a.call_index, k.agent, k.tenant, a.tool, a.kind, a.status, a.deadline,
        coalesce(a.deadline, 9223372036854775807), k.moved_at, k.moved_at,
        nextval('holdpoint_asked'), pg_current_xact_id()::text::bigint, a.body, a.note
    from kept k join asking a on a.n = k.n
    order by a.nth
    on conflict (run_no, turn, call_index) do update
    set tool = excluded.tool, kind = excluded.kind, status = excluded.status, deadline = excluded.deadline, due = excluded.due,
        asked_at = case when q.status = 0 and (q.run_no, q.turn, q.call_index) not in (select * from anew)
            then q.asked_at else excluded.asked_at end,
        changed_at = excluded.changed_at,
        asked_no = case when q.status = 0 and (q.run_no, q.turn, q.call_index) not in (select * from anew)
            then q.asked_no else excluded.asked_no end,
        seq = excluded.seq, body = excluded.body, note = excluded.note
), ended as (
    update holdpoint_approvals q
    set status = e.status, changed_at = k.moved_at, seq = pg_current_xact_id()::text::bigint, note = e.note
    from kept k join ending e on e.n = k.n
    where q.run_no = k.run_no and q.turn = e.turn and q.call_index = e.call_index and q.status + 0 = 0
), closed as (
    delete from holdpoint_tasks
    where task_no = any(array(select h.task_no from held h join kept k on k.n = h.n where h.drops))
), opened as (
    insert into holdpoint_tasks
        (run_no, turn, call_index, agent, tenant, tool, attempts, attempts_max, repeat, deadline, created_at, state,
         ready_at, fence, last_request, body)
    select k.run_no, o.turn, o.call_index, k.agent, k.tenant, o.tool, o.attempts, o.attempts_max, o.repeat, o.deadline,
        k.moved_at, 0, k.now, 0, 0, o.body
    from kept k join opening o on o.n = k.n
    order by o.n, o.turn, o.call_index
    on conflict (run_no, turn, call_index) do update
    set task_no = default, tool = excluded.tool, attempts = excluded.attempts, attempts_max = excluded.attempts_max, repeat = excluded.repeat,
        deadline = excluded.deadline, created_at = excluded.created_at, state = 0, ready_at = excluded.ready_at,
        worker = null, since = null, last_request = 0, delivery = null, body = excluded.body, result = null
)
select n, run_no from kept
union all
select n, null from lost
