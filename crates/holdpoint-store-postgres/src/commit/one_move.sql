with moved as (
    update holdpoint_runs
    set revision = $3, status = $4::smallint, pause = $5, deadline = $6, owner = $7,
        lease_until = moment.now + $8::bigint * 1000, lease_ms = $8,
        updated_at = $9, last_commit = $10, alone = alone and $4 < 3,
        audit_revision = case when $12::bytea is null then audit_revision else $3 end,
        audit_rows = audit_rows + ($12 is not null)::int,
        audit_link = case when $12 is null then audit_link
            else sha256(audit_link || int8send($3) || int8send($9) || sha256($12)) end
    from (select coalesce($13::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    where run_id = $1 and revision = $2
    returning run_no, audit_rows, audit_link
)
insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
select run_no, $3, $9, $11, $12, case when $12 is not null then audit_rows end,
    case when $12 is not null then audit_link end
from moved
returning run_no
