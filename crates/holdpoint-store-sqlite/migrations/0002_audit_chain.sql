-- The audit rows of a run are chained, heads of chains are sealed, pruned runs leave tombstones, and grants are kept.
-- In a column `tenant` of what is new here, and in `audit_tenant`: '' for none, and '=acme' for tenant `acme`.

-- Whose audit log it is in: the tenant of the first transition. Of the versions before only the last one is known.
ALTER TABLE runs ADD COLUMN audit_tenant TEXT NOT NULL DEFAULT '';
-- The last audit row, how many there are, and the chain up to it. Filled in for runs that are there by whoever runs this.
ALTER TABLE runs ADD COLUMN audit_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN audit_rows INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN audit_link BLOB NOT NULL DEFAULT x'';
-- How far it was sealed, and by which seal.
ALTER TABLE runs ADD COLUMN sealed_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN seal_no INTEGER NOT NULL DEFAULT 0;

UPDATE runs SET audit_tenant = '=' || tenant WHERE tenant IS NOT NULL;

CREATE UNIQUE INDEX runs_audited ON runs (audit_tenant, run_id);
CREATE INDEX runs_to_seal ON runs (audit_tenant, run_no) WHERE audit_revision > sealed_revision;

-- The place of an audit row in its chain, from 1, and the chain up to it.
ALTER TABLE log ADD COLUMN audit_no INTEGER;
ALTER TABLE log ADD COLUMN link BLOB;

DROP VIEW audit;

-- For people.
CREATE VIEW audit AS
    SELECT runs.run_id, log.last_seq AS revision, log.at, CAST(log.audit AS TEXT) AS body, lower(hex(log.link)) AS link
    FROM log JOIN runs ON runs.run_no = log.run_no
    WHERE log.audit IS NOT NULL;

-- `runs`: the heads that the seal covers, in one value. Only ever added.
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
