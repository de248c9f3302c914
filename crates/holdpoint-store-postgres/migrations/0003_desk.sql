-- What a server shows and keeps: sessions, questions, responses, settings, workers.
-- In a column `tenant` of what is new here: '' for none, and '=acme' for tenant `acme`.

alter table holdpoint_runs
    -- The session that the run was created in. Runs of older versions have none.
    add column session text collate "C",
    -- There while a run that is alone in its session is not over: tenant and session in one text.
    add column session_slot text collate "C";

create index holdpoint_runs_by_session on holdpoint_runs (session, audit_tenant, run_no) where session is not null;
create index holdpoint_runs_with_session on holdpoint_runs (audit_tenant, run_no) where session is not null;
create unique index holdpoint_runs_alone on holdpoint_runs (session_slot) where session_slot is not null;

-- One row per call that people were asked about.
create table holdpoint_questions (
    run_no     bigint not null,
    turn       bigint not null,
    place      bigint not null,
    agent      text collate "C" not null,
    tenant     text collate "C" not null,
    tool       text collate "C" not null,
    -- 0 permission, 1 doubt.
    kind       smallint not null,
    -- 0 pending, 1 answered, 2 expired, 3 gone.
    status     smallint not null,
    deadline   bigint,
    -- The deadline, or the end of time.
    due        bigint not null,
    asked_at   bigint not null,
    changed_at bigint not null,
    -- Increases in the order of asking, and is nobody else's.
    asked_no   bigint not null,
    -- The transaction of its last change. Those below the oldest that is still under way are all known.
    seq        bigint not null,
    body       bytea not null,
    note       bytea not null,
    primary key (run_no, turn, place)
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Numbers questions in the order of asking.
create sequence holdpoint_asked;

create index holdpoint_questions_pending on holdpoint_questions (due, asked_no) where status = 0;
create index holdpoint_questions_pending_of_tenant on holdpoint_questions (tenant, due, asked_no) where status = 0;
create index holdpoint_questions_ended_of_tenant on holdpoint_questions (tenant, status, seq, asked_no) where status > 0;
create index holdpoint_questions_changed on holdpoint_questions (seq);
create index holdpoint_questions_changed_of_tenant on holdpoint_questions (tenant, seq);

-- Responses for those who send a request again. None yet while somebody works on it.
create table holdpoint_responses (
    request      text collate "C" primary key,
    digest       bytea not null,
    begun_at     bigint not null,
    -- Who works on it, so that a request whose answer was lost is recognised.
    last_request bigint not null,
    response     bytea
);
alter table holdpoint_responses alter column response set storage external;

create index holdpoint_responses_by_age on holdpoint_responses (begun_at);

-- Values that everybody who uses this database shares.
create table holdpoint_settings (
    name  text collate "C" primary key,
    value text collate "C" not null
);

-- Who does tasks. `tools`: their names in one value.
create table holdpoint_workers (
    tenant  text collate "C" not null,
    name    text collate "C" not null,
    tools   bytea not null,
    since   bigint not null,
    seen_at bigint not null,
    primary key (tenant, name)
);

create index holdpoint_workers_seen on holdpoint_workers (seen_at);
create index holdpoint_tasks_by_worker on holdpoint_tasks (worker) where state = 1;
