with made as (
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, pause, deadline, owner, free_at, lease_us, created_at, updated_at, last_commit,
         audit_tenant, audit_revision, audit_rows, audit_link, session, session_slot)
    select $1, $2 + $3, $4, $5, $6, $7, $8, $9,
        moment.now + coalesce($10::bigint, 0), coalesce($10, 0), $11, $11, $12,
        coalesce('=' || $6, ''), case when $14::bytea is null then 0 else $3 end, ($14 is not null)::int, $16, $17,
        case when $4 < 3 then $18 end
    from (select coalesce($15::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    where $19::text is null or $19 = coalesce((select l.run_id from holdpoint_runs l
        where l.session = $17 and l.audit_tenant = coalesce('=' || $6, '') order by l.run_no desc limit 1), '')
    on conflict do nothing
    returning run_no
)
insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
select run_no, $3, $11, $13, $14, case when $14 is not null then 1 end, case when $14 is not null then $16 end
from made
returning run_no
