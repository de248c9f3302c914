-- Every moment is a number of microseconds since 1970. Every number that Rust keeps unsigned is a bigint.

-- The moving part of a run: one row, rewritten by each commit.
create table holdpoint_runs (
    -- Increases in the order of creation: lists and cursors go by it.
    run_no      bigint generated always as identity primary key,
    run_id      text collate "C" not null unique,
    revision    bigint not null,
    -- 0 running, 1 awaiting confirmation, 2 awaiting results, 3 finished, 4 failed, 5 cancelled.
    status      smallint not null,
    -- '' for an agent without a name.
    agent       text collate "C" not null,
    tenant      text collate "C",
    pause       bigint,
    deadline    bigint,
    -- Who drives it, and from when on somebody else may: the end of the lease, or the moment when it was let go.
    owner       text,
    free_at     bigint not null,
    created_at  bigint not null,
    updated_at  bigint not null,
    -- Which commit was the last, so that one whose answer was lost is recognised.
    last_commit bigint not null
) with (autovacuum_vacuum_scale_factor = 0.05);

create index holdpoint_runs_claimable on holdpoint_runs (agent, free_at, run_no) where status = 0;
create index holdpoint_runs_due on holdpoint_runs (agent, deadline, run_no) where deadline is not null;
create index holdpoint_runs_open on holdpoint_runs (status, run_no) where status < 3;
create index holdpoint_runs_over on holdpoint_runs (updated_at, run_no) where status >= 3;

-- What happened: one row per transition, never changed. `body` holds its records, packed; `audit` who decided and did what.
create table holdpoint_log (
    run_no   bigint not null,
    last_seq bigint not null,
    at       bigint not null,
    body     bytea not null,
    audit    bytea,
    primary key (run_no, last_seq)
);
-- What is large was compressed before it came here.
alter table holdpoint_log alter column body set storage external;

-- Calls that somebody outside does: a row is there exactly as long as its call waits.
create table holdpoint_tasks (
    task_no      bigint generated always as identity primary key,
    run_no       bigint not null,
    turn         bigint not null,
    place        bigint not null,
    agent        text collate "C" not null,
    tenant       text collate "C",
    tool         text collate "C" not null,
    attempts     bigint not null,
    attempts_max bigint not null,
    -- 0 never, 1 safe, 2 with key.
    repeat       smallint not null,
    deadline     bigint,
    created_at   bigint not null,
    -- 0 waiting, 1 leased, 2 delivered.
    state        smallint not null,
    -- Waiting: from when on it can be leased. Leased: until when.
    ready_at     bigint not null,
    -- The last lease of it. Never used twice.
    fence        bigint not null,
    worker       text,
    since        bigint,
    -- Which request changed it last, so that one whose answer was lost is recognised.
    last_request bigint not null,
    -- Counts deliveries in their order.
    delivery     bigint,
    body         bytea not null,
    result       bytea,
    unique (run_no, turn, place)
) with (autovacuum_vacuum_scale_factor = 0.02);

create index holdpoint_tasks_waiting on holdpoint_tasks (agent, tool, ready_at, task_no) where state = 0;
create index holdpoint_tasks_waiting_of_tenant on holdpoint_tasks (tenant, agent, tool, ready_at, task_no)
    where state = 0 and tenant is not null;
create index holdpoint_tasks_leased on holdpoint_tasks (agent, ready_at, task_no) where state = 1;
create index holdpoint_tasks_delivered on holdpoint_tasks (agent, run_no) where state = 2;

-- Numbers of leases and of deliveries.
create sequence holdpoint_fences;
