-- What a server shows and keeps: sessions, questions, responses, settings, workers.
-- In a column `tenant` of what is new here: '' for none, and '=acme' for tenant `acme`.

-- The session that the run was created in. Runs of older versions have none.
ALTER TABLE runs ADD COLUMN session TEXT;
-- There while a run that is alone in its session is not over: tenant and session in one text.
ALTER TABLE runs ADD COLUMN session_slot TEXT;

CREATE INDEX runs_by_session ON runs (session, audit_tenant) WHERE session IS NOT NULL;
CREATE INDEX runs_with_session ON runs (audit_tenant) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX runs_alone ON runs (session_slot) WHERE session_slot IS NOT NULL;

-- One row per call that people were asked about. `kind`: 0 permission, 1 doubt. `status`: 0 pending, 1 answered, 2 expired,
-- 3 gone. `due`: the deadline, or the end of time. `asked_no` and `seq`: tickets of its beginning and of its last change.
CREATE TABLE questions (
    question_no INTEGER PRIMARY KEY,
    run_no INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    agent TEXT NOT NULL,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    deadline INTEGER,
    due INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    asked_no INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    body BLOB NOT NULL,
    note BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX questions_by_call ON questions (run_no, turn, idx);
CREATE INDEX questions_pending ON questions (due, asked_no) WHERE status = 0;
CREATE INDEX questions_pending_of_tenant ON questions (tenant, due, asked_no) WHERE status = 0;
CREATE INDEX questions_ended ON questions (status, seq, asked_no) WHERE status > 0;
CREATE INDEX questions_ended_of_tenant ON questions (tenant, status, seq, asked_no) WHERE status > 0;
CREATE INDEX questions_changed ON questions (seq);
CREATE INDEX questions_changed_of_tenant ON questions (tenant, seq);

-- Responses for those who send a request again. None yet while somebody works on it.
CREATE TABLE responses (
    request TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL,
    begun_at INTEGER NOT NULL,
    response BLOB
) STRICT;

CREATE INDEX responses_by_age ON responses (begun_at);

-- Values that everybody who uses this database shares.
CREATE TABLE settings (
    name TEXT NOT NULL UNIQUE,
    value TEXT NOT NULL
) STRICT;

-- Who does tasks. `tools`: their names in one value.
CREATE TABLE workers (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    tools BLOB NOT NULL,
    since INTEGER NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX workers_by_name ON workers (tenant, name);
CREATE INDEX workers_seen ON workers (seen_at);
CREATE INDEX tasks_by_worker ON tasks (worker) WHERE state = 1;
