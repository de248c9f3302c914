with moved as (
    update holdpoint_runs
    set revision = $3, status = $4, agent = $5, tenant = $6, pause = $7, deadline = $8, owner = $9,
        free_at = moment.now + coalesce($10::bigint, 0),
        updated_at = $11, last_commit = $12
    from (select coalesce($15::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    where run_id = $1 and revision = $2
    returning run_no
)
insert into holdpoint_log (run_no, last_seq, at, body, audit)
select run_no, $3, $11, $13, $14 from moved
returning run_no
