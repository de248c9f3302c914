with moved as (
    update holdpoint_runs
    set revision = $3, status = $4, pause = $7, deadline = $8, owner = $9,
        free_at = moment.now + coalesce($10::bigint, 0), lease_us = coalesce($10, 0),
        updated_at = $11, last_commit = $12, session_slot = case when $4 < 3 then session_slot end,
        audit_revision = case when $14::bytea is null then audit_revision else $3 end,
        audit_rows = audit_rows + ($14 is not null)::int,
        audit_link = case when $14 is null then audit_link
            else sha256(audit_link || int8send($3) || int8send($11) || sha256($14)) end
    from (select coalesce($15::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    where run_id = $1 and revision = $2 and ($5::text is null or true) and ($6::text is null or true)
    returning run_no, audit_rows, audit_link
)
insert into holdpoint_log (run_no, last_seq, at, body, audit, audit_no, link)
select run_no, $3, $11, $13, $14, case when $14 is not null then audit_rows end,
    case when $14 is not null then audit_link end
from moved
returning run_no
