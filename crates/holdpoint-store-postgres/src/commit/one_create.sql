with made as (
    insert into holdpoint_runs
        (run_id, revision, status, pause, deadline, owner, lease_until, lease_ms, created_at, updated_at, last_commit,
         agent, tenant, audit_revision, audit_rows, audit_link, session, alone)
    select $1, $2::bigint + $3, $4::smallint, $5, $6, $7, moment.now + $8::bigint * 1000, $8, $9, $9, $10,
        $14, $15, case when $12::bytea is null then 0 else $3 end, ($12 is not null)::int, $16, $17, $18 and $4 < 3
    from (select coalesce($13::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    where $19::text is null or $19 = coalesce((select l.run_id from holdpoint_runs l
        where l.session = $17 and l.tenant = $15
        order by l.session desc, l.tenant desc, l.run_no desc limit 1), '')
    on conflict do nothing
    returning run_no
)
insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
select run_no, $3, $9, $11, $12, case when $12 is not null then 1 end, case when $12 is not null then $16 end
from made
returning run_no
