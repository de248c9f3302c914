-- The first version. Moments are microseconds since 1970. Every number that Rust keeps unsigned is a bigint. An agent without
-- a name is ''. A column `tenant` holds '' for no tenant and '=acme' for tenant `acme`.

-- A statement that finds a row by its key writes `status + 0 = …`, so that the planner cannot take a partial index on the
-- status instead. When statistics say that the index is almost empty, it looks cheaper than the key, and the plan stays after
-- the index has grown.

-- The moving part of a run: one row, rewritten by each commit.
create table holdpoint_runs (
    -- Increases in the order of creation: lists and cursors go by it.
    run_no          bigint generated always as identity primary key,
    run_id          text collate "C" not null unique,
    revision        bigint not null,
    -- 0 running, 1 awaiting confirmation, 2 awaiting results, 3 finished, 4 failed, 5 cancelled.
    status          smallint not null,
    agent           text collate "C" not null,
    tenant          text collate "C" not null,
    pause           bigint,
    deadline        bigint,
    owner           text,
    -- The end of the owner's lease. Without an owner: the moment of the last commit.
    lease_until     bigint not null,
    -- The length of that lease, 0 without an owner. A lease that ends later than this from now was written before the
    -- clock was set back.
    lease_ms        bigint not null,
    created_at      bigint not null,
    updated_at      bigint not null,
    -- Which commit was the last, so that a commit whose acknowledgement was lost is recognised.
    last_commit     bigint not null,
    -- The revision of the last audit row, the number of audit rows, and the link of the last one.
    audit_revision  bigint not null,
    audit_rows      bigint not null,
    audit_link      bytea not null,
    -- The last audit revision that a seal covers, and the number of that seal.
    sealed_revision bigint not null default 0,
    seal_no         bigint not null default 0,
    -- The session that the run was created in.
    session         text collate "C",
    -- True while a run that must be alone in its session is not over.
    alone           boolean not null
) with (autovacuum_vacuum_scale_factor = 0.05);

create index holdpoint_runs_claimable on holdpoint_runs (agent, lease_until, run_no) where status = 0;
create index holdpoint_runs_due on holdpoint_runs (agent, deadline, run_no) where deadline is not null;
create index holdpoint_runs_open on holdpoint_runs (status, run_no) where status < 3;
create index holdpoint_runs_over on holdpoint_runs (updated_at, run_no) where status >= 3;
create index holdpoint_runs_audited on holdpoint_runs (tenant, run_id);
create index holdpoint_runs_to_seal on holdpoint_runs (tenant, run_no) where audit_revision > sealed_revision;
create index holdpoint_runs_by_session on holdpoint_runs (session, tenant, run_no) where session is not null;
create index holdpoint_runs_with_session on holdpoint_runs (tenant, run_no) where session is not null;
create unique index holdpoint_runs_alone on holdpoint_runs (session, tenant) where alone;

-- One row per transition, never changed. `last_seq` is the revision of the run afterwards. `body` holds its records in one
-- value, `audit` its entry in the audit log.
create table holdpoint_log (
    run_no   bigint not null,
    last_seq bigint not null,
    at       bigint not null,
    body     bytea not null,
    audit    bytea,
    -- The position of the audit row in the run's chain, from 1, and the link up to it.
    audit_no bigint,
    link     bytea,
    primary key (run_no, last_seq)
);
-- Large values are compressed before they arrive here.
alter table holdpoint_log alter column body set storage external;

-- One row per deferred call, deleted when the run no longer waits for it.
create table holdpoint_tasks (
    task_no      bigint generated always as identity primary key,
    run_no       bigint not null,
    turn         bigint not null,
    call_index   bigint not null,
    agent        text collate "C" not null,
    tenant       text collate "C" not null,
    tool         text collate "C" not null,
    attempts     bigint not null,
    attempts_max bigint not null,
    -- 0 never, 1 safe, 2 with key.
    repeat       smallint not null,
    deadline     bigint,
    created_at   bigint not null,
    -- 0 waiting, 1 leased, 2 delivered.
    state        smallint not null,
    -- Waiting: when it can be leased. Leased: when the lease lapses.
    ready_at     bigint not null,
    -- The last lease of it. Never used twice.
    fence        bigint not null,
    worker       text,
    since        bigint,
    -- The length of the lease when it was written.
    lease_ms     bigint,
    -- Which request changed it last, so that a request whose acknowledgement was lost is recognised.
    last_request bigint not null,
    -- Orders results by their arrival.
    delivery     bigint,
    body         bytea not null,
    result       bytea,
    unique (run_no, turn, call_index)
) with (autovacuum_vacuum_scale_factor = 0.02);

create index holdpoint_tasks_waiting on holdpoint_tasks (agent, tool, ready_at, task_no) where state = 0;
create index holdpoint_tasks_waiting_of_tenant on holdpoint_tasks (tenant, agent, tool, ready_at, task_no)
    where state = 0 and tenant > '';
create index holdpoint_tasks_leased on holdpoint_tasks (agent, ready_at, task_no) where state = 1;
create index holdpoint_tasks_delivered on holdpoint_tasks (agent, run_no) where state = 2;
create index holdpoint_tasks_by_worker on holdpoint_tasks (worker) where state = 1;

-- Numbers leases and results.
create sequence holdpoint_fences;

-- `runs` holds the heads that the seal covers, in one value. Never changed.
create table holdpoint_seals (
    tenant text collate "C" not null,
    number bigint not null,
    at     bigint not null,
    link   bytea not null,
    runs   bytea not null,
    primary key (tenant, number)
);
alter table holdpoint_seals alter column runs set storage external;

-- What is left of a pruned run. `seal` is the last seal that named it.
create table holdpoint_tombstones (
    tenant   text collate "C" not null,
    run_id   text collate "C" not null,
    revision bigint not null,
    link     bytea not null,
    seal     bigint not null,
    at       bigint not null,
    primary key (tenant, run_id, link)
);

create table holdpoint_grants (
    grant_no     bigint generated always as identity primary key,
    grant_id     text collate "C" not null unique,
    tenant       text collate "C" not null,
    tool         text collate "C" not null,
    until        bigint,
    created_at   bigint not null,
    revoked_by   text,
    revoked_at   bigint,
    -- Which request revoked it, so that a request whose acknowledgement was lost is recognised.
    last_request bigint not null,
    body         bytea not null
);

create index holdpoint_grants_open on holdpoint_grants (tenant, tool, grant_no) where revoked_at is null;

-- One row per call that people were asked about.
create table holdpoint_approvals (
    run_no     bigint not null,
    turn       bigint not null,
    call_index bigint not null,
    agent      text collate "C" not null,
    tenant     text collate "C" not null,
    tool       text collate "C" not null,
    -- 0 permission, 1 doubt, 2 input.
    kind       smallint not null,
    -- 0 pending, 1 answered, 2 expired, 3 gone.
    status     smallint not null,
    deadline   bigint,
    -- The deadline, or the end of time.
    due        bigint not null,
    asked_at   bigint not null,
    changed_at bigint not null,
    -- Increases in the order of asking.
    asked_no   bigint not null,
    -- The transaction of its last change. All transactions below the oldest one still under way have ended.
    seq        bigint not null,
    body       bytea not null,
    note       bytea not null,
    primary key (run_no, turn, call_index)
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Numbers questions in the order of asking.
create sequence holdpoint_asked;

create index holdpoint_approvals_pending on holdpoint_approvals (due, asked_no) where status = 0;
create index holdpoint_approvals_pending_of_tenant on holdpoint_approvals (tenant, due, asked_no) where status = 0;
create index holdpoint_approvals_ended_of_tenant on holdpoint_approvals (tenant, status, seq, asked_no) where status > 0;
create index holdpoint_approvals_changed on holdpoint_approvals (seq);
create index holdpoint_approvals_changed_of_tenant on holdpoint_approvals (tenant, seq);

-- Responses to requests with an idempotency key. `response` is null while a server works on the request.
create table holdpoint_responses (
    request      text collate "C" primary key,
    digest       bytea not null,
    begun_at     bigint not null,
    -- Which server works on it, so that a reservation whose acknowledgement was lost is recognised.
    last_request bigint not null,
    -- More than 1 after a server that began it did not say in time what came of it.
    tries        bigint not null default 1,
    response     bytea
);
alter table holdpoint_responses alter column response set storage external;

create index holdpoint_responses_by_age on holdpoint_responses (begun_at);

-- Values that all processes on this database share.
create table holdpoint_settings (
    name  text collate "C" primary key,
    value text collate "C" not null
);

-- `tools` holds the names of the worker's tools in one value.
create table holdpoint_workers (
    tenant  text collate "C" not null,
    name    text collate "C" not null,
    tools   bytea not null,
    since   bigint not null,
    seen_at bigint not null,
    primary key (tenant, name)
);

create index holdpoint_workers_seen on holdpoint_workers (seen_at);
