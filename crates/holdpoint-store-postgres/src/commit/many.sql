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
), moved as (
    update holdpoint_runs r
    set revision = i.next, status = i.status, pause = i.pause, deadline = i.deadline, owner = i.owner,
        lease_until = i.lease_until, lease_ms = i.lease_ms, updated_at = i.moved_at, last_commit = i.token,
        alone = r.alone and i.status < 3,
        audit_revision = case when i.audit is null then r.audit_revision else i.next end,
        audit_rows = r.audit_rows + (i.audit is not null)::int,
        audit_link = case when i.audit is null then r.audit_link
            else sha256(r.audit_link || int8send(i.next) || int8send(i.moved_at) || sha256(i.audit)) end
    from input i
    where i.at > 0 and r.run_id = i.run_id and r.revision = i.at
    returning i.n, r.run_no, i.next, i.moved_at, i.body, i.audit, r.audit_rows, r.audit_link
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
    select n, run_no, next, moved_at, body, audit, audit_rows, audit_link from moved
    union all
    select i.n, m.run_no, i.next, i.moved_at, i.body, i.audit, m.audit_rows, m.audit_link
    from made m join input i on i.run_id = m.run_id
), logged as (
    insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
    select run_no, next, moved_at, body, audit, case when audit is not null then audit_rows end,
        case when audit is not null then audit_link end
    from kept
)
select n, run_no from kept
