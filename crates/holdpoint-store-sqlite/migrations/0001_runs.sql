-- The first version. Moments are microseconds since 1970. An agent without a name is ''.
-- A column `status`: 0 running, 1 awaiting confirmation, 2 awaiting results, 3 finished, 4 failed, 5 cancelled.

CREATE TABLE holdpoint_schema (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
) STRICT;

-- One row per run. `lease_until` is the moment from which anybody may claim it: the end of the lease if it has an
-- owner, the moment of the last commit if it has none.
CREATE TABLE runs (
    run_no INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    status INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT,
    pause INTEGER,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    owner TEXT,
    lease_until INTEGER NOT NULL
) STRICT;

CREATE INDEX runs_to_claim ON runs (agent, lease_until) WHERE status = 0;
CREATE INDEX runs_due ON runs (agent, deadline) WHERE deadline IS NOT NULL;
CREATE INDEX runs_paused ON runs (status) WHERE status IN (1, 2);
CREATE INDEX runs_over ON runs (updated_at) WHERE status >= 3;
CREATE INDEX runs_by_agent ON runs (agent);
CREATE INDEX runs_by_tenant ON runs (tenant) WHERE tenant IS NOT NULL;

-- One row per transition, only ever added. `body` is all its records in one value, `audit` what it left in the audit log.
CREATE TABLE log (
    run_no INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    audit BLOB,
    body BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX log_by_run ON log (run_no, last_seq);

-- For people.
CREATE VIEW audit AS
    SELECT runs.run_id, log.last_seq AS revision, log.at, CAST(log.audit AS TEXT) AS body
    FROM log JOIN runs ON runs.run_no = log.run_no
    WHERE log.audit IS NOT NULL;

-- One row per call that waits for somebody. `state`: 0 waiting, 1 leased, 2 delivered. `moment`: when it can be leased,
-- when its lease lapses, when it was delivered. `repeat`: 0 never, 1 safe, 2 with key.
CREATE TABLE tasks (
    task_no INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT,
    tool TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    repeat INTEGER NOT NULL,
    deadline INTEGER,
    created_at INTEGER NOT NULL,
    state INTEGER NOT NULL,
    moment INTEGER NOT NULL,
    worker TEXT,
    fence INTEGER,
    since INTEGER,
    delivery INTEGER,
    body BLOB NOT NULL,
    result BLOB
) STRICT;

CREATE UNIQUE INDEX tasks_by_call ON tasks (run_no, turn, idx);
CREATE INDEX tasks_waiting ON tasks (agent, tool, moment) WHERE state = 0;
CREATE INDEX tasks_waiting_of_tenant ON tasks (tenant, agent, tool, moment) WHERE state = 0 AND tenant IS NOT NULL;
CREATE INDEX tasks_leased ON tasks (agent, moment) WHERE state = 1;
CREATE INDEX tasks_delivered ON tasks (agent, run_no) WHERE state = 2;

-- The last number that was given to a lease or a delivery. It never goes back, so that no two leases of a call are alike,
-- not even when its task was closed and opened again in between.
CREATE TABLE tickets (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO tickets (only, last) VALUES (1, 0);
