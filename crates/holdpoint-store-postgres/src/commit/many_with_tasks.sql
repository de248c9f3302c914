with moment as materialized (
    select coalesce($16::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now
), input as materialized (
    select i.*, now + coalesce(lease_us, 0) as free_at, now
    from moment, unnest(
        $1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::smallint[], $6::text[], $7::text[], $8::bigint[],
        $9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::bytea[], $32::bytea[],
        $33::text[], $34::text[], $55::text[]
    ) as i(n, run_id, at, next, status, agent, tenant, pause, deadline, owner, lease_us, moved_at, token, body, audit,
        link, session, slot, last_run)
), change as materialized (
    select * from unnest($17::bigint[], $18::bigint[], $19::bigint[], $20::smallint[], $21::bigint[], $22::boolean[])
        as c(n, turn, place, guard, fence, drops)
), opening as materialized (
    select * from unnest(
        $23::bigint[], $24::bigint[], $25::bigint[], $26::text[], $27::bigint[], $28::bigint[], $29::smallint[],
        $30::bigint[], $31::bytea[]
    ) as o(n, turn, place, tool, attempts, attempts_max, repeat, deadline, body)
), granting as materialized (
    select * from unnest($35::bigint[], $36::text[], $37::text[], $38::bigint[], $39::bytea[])
        with ordinality as g(n, grant_id, tool, until, body, place)
), asking as materialized (
    select * from unnest(
        $40::bigint[], $41::bigint[], $42::bigint[], $43::text[], $44::smallint[], $45::smallint[], $46::bigint[],
        $47::boolean[], $48::bytea[], $49::bytea[]
    ) with ordinality as a(n, turn, place, tool, kind, status, deadline, anew, body, note, nth)
), ending as materialized (
    select * from unnest($50::bigint[], $51::bigint[], $52::bigint[], $53::smallint[], $54::bytea[])
        as e(n, turn, place, status, note)
), run as materialized (
    -- After a wait for a lock, rows are read again here and nowhere below: everything is decided from what is locked.
    select i.*, r.agent as own_agent, r.tenant as own_tenant, r.run_no, r.audit_revision, r.audit_rows, r.audit_link
    from input i join holdpoint_runs r on r.run_id = i.run_id and r.revision = i.at
    where i.at > 0
    order by r.run_no
    for update of r
), held as materialized (
    select c.n, c.turn, c.place, t.state, t.fence, t.ready_at
    from run join change c on c.n = run.n
        join holdpoint_tasks t on t.run_no = run.run_no and t.turn = c.turn and t.place = c.place
    order by t.task_no
    for update of t
), lost as materialized (
    select distinct run.n
    from run join change c on c.n = run.n
        left join held h on h.n = c.n and h.turn = c.turn and h.place = c.place
    -- 1 waiting, 2 no result, 3 leased, 4 lapsed, 5 delivered.
    where (c.guard = 1 and h.state <> 0)
        or (c.guard = 2 and h.state = 2)
        or (c.guard in (3, 4) and (h.state is distinct from 1 or h.fence <> c.fence))
        or (c.guard = 4 and h.ready_at > run.now)
        or (c.guard = 5 and (h.state is distinct from 2 or h.fence <> c.fence))
), fit as materialized (
    select n, run_id, next, status, own_agent as agent, own_tenant as tenant, pause, deadline, owner, free_at, coalesce(lease_us, 0) as lease_us, moved_at, token, body, audit, now,
        run_no, case when audit is null then audit_revision else next end as audit_revision,
        audit_rows + (audit is not null)::int as audit_rows,
        case when audit is null then audit_link
            else sha256(audit_link || int8send(next) || int8send(moved_at) || sha256(audit)) end as audit_link
    from run where run.n not in (select n from lost)
), moved as (
    update holdpoint_runs r
    set revision = f.next, status = f.status, pause = f.pause,
        deadline = f.deadline, owner = f.owner, free_at = f.free_at,
        lease_us = f.lease_us, updated_at = f.moved_at, last_commit = f.token,
        session_slot = case when f.status < 3 then r.session_slot end,
        audit_revision = f.audit_revision, audit_rows = f.audit_rows, audit_link = f.audit_link
    from fit f
    where r.run_no = f.run_no
), made as (
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, pause, deadline, owner, free_at, lease_us, created_at, updated_at, last_commit,
         audit_tenant, audit_revision, audit_rows, audit_link, session, session_slot)
    select run_id, next, status, agent, tenant, pause, deadline, owner, free_at, coalesce(lease_us, 0), moved_at, moved_at, token,
        coalesce('=' || tenant, ''), case when audit is null then 0 else next end, (audit is not null)::int, link,
        session, case when status < 3 then slot end
    from input where at = 0
        and (last_run is null or last_run = coalesce((select l.run_id from holdpoint_runs l
            where l.session = input.session and l.audit_tenant = coalesce('=' || input.tenant, '')
            order by l.run_no desc limit 1), ''))
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
    select g.grant_id, coalesce('=' || k.tenant, ''), g.tool, g.until, k.moved_at, 0, g.body
    from granting g join kept k on k.n = g.n
    order by g.place
    -- A name that is there already stays as it is.
    on conflict (grant_id) do nothing
), anew as materialized (
    -- What was asked before ended in the same transition.
    select k.run_no, a.turn, a.place from kept k join asking a on a.n = k.n where a.anew
), asked as (
    -- A question that is pending keeps its beginning; one that ended begins anew.
    insert into holdpoint_questions as q
        (run_no, turn, place, agent, tenant, tool, kind, status, deadline, due, asked_at, changed_at, asked_no, seq,
         body, note)
    select k.run_no, a.turn, a.place, k.agent, coalesce('=' || k.tenant, ''), a.tool, a.kind, a.status, a.deadline,
        coalesce(a.deadline, 9223372036854775807), k.moved_at, k.moved_at,
        nextval('holdpoint_asked'), pg_current_xact_id()::text::bigint, a.body, a.note
    from kept k join asking a on a.n = k.n
    order by a.nth
    on conflict (run_no, turn, place) do update
    set agent = excluded.agent, tenant = excluded.tenant, tool = excluded.tool, kind = excluded.kind,
        status = excluded.status, deadline = excluded.deadline, due = excluded.due,
        asked_at = case when q.status = 0 and (q.run_no, q.turn, q.place) not in (select * from anew)
            then q.asked_at else excluded.asked_at end,
        changed_at = excluded.changed_at,
        asked_no = case when q.status = 0 and (q.run_no, q.turn, q.place) not in (select * from anew)
            then q.asked_no else excluded.asked_no end,
        seq = excluded.seq, body = excluded.body, note = excluded.note
), ended as (
    update holdpoint_questions q
    set status = e.status, changed_at = k.moved_at, seq = pg_current_xact_id()::text::bigint, note = e.note
    from kept k join ending e on e.n = k.n
    where q.run_no = k.run_no and q.turn = e.turn and q.place = e.place and q.status = 0
), closed as (
    delete from holdpoint_tasks t
    using kept k join change c on c.n = k.n
    where c.drops and t.run_no = k.run_no and t.turn = c.turn and t.place = c.place
), opened as (
    insert into holdpoint_tasks
        (run_no, turn, place, agent, tenant, tool, attempts, attempts_max, repeat, deadline, created_at, state,
         ready_at, fence, last_request, body)
    select k.run_no, o.turn, o.place, k.agent, k.tenant, o.tool, o.attempts, o.attempts_max, o.repeat, o.deadline,
        k.moved_at, 0, k.now, 0, 0, o.body
    from kept k join opening o on o.n = k.n
    order by o.n, o.turn, o.place
    on conflict (run_no, turn, place) do update
    set task_no = default, agent = excluded.agent, tenant = excluded.tenant, tool = excluded.tool,
        attempts = excluded.attempts, attempts_max = excluded.attempts_max, repeat = excluded.repeat,
        deadline = excluded.deadline, created_at = excluded.created_at, state = 0, ready_at = excluded.ready_at,
        worker = null, since = null, last_request = 0, delivery = null, body = excluded.body, result = null
)
select n, run_no from kept
union all
select n, null from lost
