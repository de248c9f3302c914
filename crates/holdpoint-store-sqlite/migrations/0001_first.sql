-- The first version. Moments are microseconds since 1970. An agent without a name is ''. A column `tenant` holds '' for no
-- tenant and '=acme' for tenant `acme`.

CREATE TABLE holdpoint_schema (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    run_no INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    -- 0 running, 1 awaiting confirmation, 2 awaiting results, 3 finished, 4 failed, 5 cancelled.
    status INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    pause INTEGER,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    owner TEXT,
    -- The end of the owner's lease. Without an owner: the moment of the last commit.
    lease_until INTEGER NOT NULL,
    -- The length of that lease, 0 without an owner. A lease that ends later than this from now was written before the
    -- clock was set back.
    lease_ms INTEGER NOT NULL,
    -- The revision of the last audit row, the number of audit rows, and the link of the last one.
    audit_revision INTEGER NOT NULL,
    audit_rows INTEGER NOT NULL,
    audit_link BLOB NOT NULL,
    -- The last audit revision that a seal covers, and the number of that seal.
    sealed_revision INTEGER NOT NULL DEFAULT 0,
    seal_no INTEGER NOT NULL DEFAULT 0,
    -- The session that the run was created in.
    session TEXT,
    -- 1 while a run that must be alone in its session is not over.
    alone INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_to_claim ON runs (agent, lease_until) WHERE status = 0;
CREATE INDEX runs_due ON runs (agent, deadline) WHERE deadline IS NOT NULL;
CREATE INDEX runs_paused ON runs (status) WHERE status IN (1, 2);
CREATE INDEX runs_over ON runs (updated_at) WHERE status >= 3;
CREATE INDEX runs_by_agent ON runs (agent);
CREATE INDEX runs_by_tenant ON runs (tenant) WHERE tenant > '';
CREATE UNIQUE INDEX runs_audited ON runs (tenant, run_id);
CREATE INDEX runs_to_seal ON runs (tenant, run_no) WHERE audit_revision > sealed_revision;
CREATE INDEX runs_by_session ON runs (session, tenant) WHERE session IS NOT NULL;
CREATE INDEX runs_with_session ON runs (tenant) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX runs_alone ON runs (session, tenant) WHERE alone = 1;

-- One row per transition, never changed. `last_seq` is the revision of the run afterwards. `body` holds its records in one
-- value, `audit` its entry in the audit log.
CREATE TABLE log (
    run_no INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    audit BLOB,
    body BLOB NOT NULL,
    -- The position of the audit row in the run's chain, from 1, and the link up to it.
    audit_no INTEGER,
    link BLOB
) STRICT;

CREATE UNIQUE INDEX log_by_run ON log (run_no, last_seq);

-- For people who look at the file.
CREATE VIEW audit AS
    SELECT runs.run_id, log.last_seq AS revision, log.at, CAST(log.audit AS TEXT) AS body, lower(hex(log.link)) AS link
    FROM log JOIN runs ON runs.run_no = log.run_no
    WHERE log.audit IS NOT NULL;

-- One row per deferred call, deleted when the run no longer waits for it.
CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    call_index INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    -- 0 never, 1 safe, 2 with key.
    repeat INTEGER NOT NULL,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    -- 0 waiting, 1 leased, 2 delivered.
    state INTEGER NOT NULL,
    -- Waiting: when it can be leased. Leased: when the lease lapses. Delivered: when the result arrived.
    ready_at INTEGER NOT NULL,
    worker TEXT,
    fence INTEGER,
    since INTEGER,
    -- The length of the lease when it was written.
    lease_ms INTEGER,
    delivery INTEGER,
    body BLOB NOT NULL,
    result BLOB
) STRICT;

CREATE UNIQUE INDEX tasks_by_call ON tasks (run_no, turn, call_index);
CREATE INDEX tasks_waiting ON tasks (agent, tool, ready_at) WHERE state = 0;
CREATE INDEX tasks_waiting_of_tenant ON tasks (tenant, agent, tool, ready_at) WHERE state = 0 AND tenant > '';
CREATE INDEX tasks_leased ON tasks (agent, ready_at) WHERE state = 1;
CREATE INDEX tasks_delivered ON tasks (agent, run_no) WHERE state = 2;
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE state = 1;

-- The last number that a lease, a result or an approval got. It only grows, so that no two leases of a call are alike, even
-- if its task was closed and opened again in between.
CREATE TABLE tickets (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO tickets (only, last) VALUES (1, 0);

-- `runs` holds the heads that the seal covers, in one value. Never changed.
CREATE TABLE seals (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    link BLOB NOT NULL,
    runs BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX seals_by_tenant ON seals (tenant, number);

-- What is left of a pruned run. `seal` is the last seal that named it.
CREATE TABLE tombstones (
    tenant TEXT NOT NULL,
    run_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    link BLOB NOT NULL,
    seal INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX tombstones_by_run ON tombstones (tenant, run_id, link);

CREATE TABLE grants (
    grant_no INTEGER PRIMARY KEY,
    grant_id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    until INTEGER,
    created_at INTEGER NOT NULL,
    revoked_by TEXT,
    revoked_at INTEGER,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX grants_open ON grants (tenant, tool, grant_no) WHERE revoked_at IS NULL;

-- One row per call that people were asked about.
CREATE TABLE approvals (
    run_no INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    call_index INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    -- 0 permission, 1 doubt, 2 input.
    kind INTEGER NOT NULL,
    -- 0 pending, 1 answered, 2 expired, 3 gone.
    status INTEGER NOT NULL,
    deadline INTEGER,
    -- The deadline, or the end of time.
    due INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    -- Tickets of its first and of its last change.
    asked_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    note BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX approvals_by_call ON approvals (run_no, turn, call_index);
CREATE INDEX approvals_pending ON approvals (due, asked_no) WHERE status = 0;
CREATE INDEX approvals_pending_of_tenant ON approvals (tenant, due, asked_no) WHERE status = 0;
CREATE INDEX approvals_ended ON approvals (status, seq, asked_no) WHERE status > 0;
CREATE INDEX approvals_ended_of_tenant ON approvals (tenant, status, seq, asked_no) WHERE status > 0;
CREATE INDEX approvals_changed ON approvals (seq);
CREATE INDEX approvals_changed_of_tenant ON approvals (tenant, seq);

-- Responses to requests with an idempotency key. `response` is null while a server works on the request.
CREATE TABLE responses (
    request TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    begun_at INTEGER NOT NULL,
    -- More than 1 after a server that began it did not say in time what came of it.
    tries INTEGER NOT NULL DEFAULT 1,
    response BLOB
) STRICT;

CREATE INDEX responses_by_age ON responses (begun_at);

-- Values that all processes on this database share.
CREATE TABLE settings (
    name TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL
) STRICT;

-- `tools` holds the names of the worker's tools in one value.
CREATE TABLE workers (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    tools BLOB NOT NULL,
    since INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX workers_by_name ON workers (tenant, name);
CREATE INDEX workers_seen ON workers (seen_at);
