with made as (
    insert into holdpoint_runs
        (run_id, revision, status, agent, tenant, pause, deadline, owner, free_at, created_at, updated_at, last_commit)
    select $1, $2 + $3, $4, $5, $6, $7, $8, $9,
        moment.now + coalesce($10::bigint, 0), $11, $11, $12
    from (select coalesce($15::bigint, (extract(epoch from clock_timestamp()) * 1000000)::bigint) as now) as moment
    on conflict (run_id) do nothing
    returning run_no
)
insert into holdpoint_log (run_no, last_seq, at, body, audit)
select run_no, $3, $11, $13, $14 from made
returning run_no
