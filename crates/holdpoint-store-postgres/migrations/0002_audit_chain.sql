-- The audit rows of a run are chained, heads of chains are sealed, pruned runs leave tombstones, and grants are kept.
-- In a column `tenant` of what is new here, and in `audit_tenant`: '' for none, and '=acme' for tenant `acme`.

alter table holdpoint_runs
    -- Whose audit log it is in: the tenant of the first transition. Of the version before only the last one is known.
    add column audit_tenant text collate "C" not null default '',
    -- The last audit row, how many there are, and the chain up to it.
    add column audit_revision bigint not null default 0,
    add column audit_rows bigint not null default 0,
    add column audit_link bytea not null default '',
    -- How far it was sealed, and by which seal.
    add column sealed_revision bigint not null default 0,
    add column seal_no bigint not null default 0;

-- The place of an audit row in its chain, from 1, and the chain up to it.
alter table holdpoint_log
    add column audit_no bigint,
    add column link bytea;

-- Chains what is there.
do $$
declare
    run record;
    entry record;
    chain bytea;
    place bigint;
    last bigint;
begin
    for run in
        select run_no, convert_to(run_id, 'UTF8') as name, tenant, convert_to(tenant, 'UTF8') as of
        from holdpoint_runs
    loop
        chain := sha256(
            convert_to(E'holdpoint audit run v1\n', 'UTF8') || int8send(octet_length(run.name)) || run.name
            || coalesce('\x01'::bytea || int8send(octet_length(run.of)) || run.of, '\x00'::bytea));
        place := 0;
        last := 0;
        for entry in
            select last_seq, at, audit from holdpoint_log
            where run_no = run.run_no and audit is not null order by last_seq
        loop
            place := place + 1;
            last := entry.last_seq;
            chain := sha256(chain || int8send(entry.last_seq) || int8send(entry.at) || sha256(entry.audit));
            update holdpoint_log set audit_no = place, link = chain
            where run_no = run.run_no and last_seq = entry.last_seq;
        end loop;
        update holdpoint_runs
        set audit_tenant = coalesce('=' || run.tenant, ''), audit_revision = last, audit_rows = place,
            audit_link = chain
        where run_no = run.run_no;
    end loop;
end $$;

create index holdpoint_runs_audited on holdpoint_runs (audit_tenant, run_id);
create index holdpoint_runs_to_seal on holdpoint_runs (audit_tenant, run_no) where audit_revision > sealed_revision;

-- `runs`: the heads that the seal covers, in one value. Never changed.
create table holdpoint_seals (
    tenant text collate "C" not null,
    number bigint not null,
    at     bigint not null,
    link   bytea not null,
    runs   bytea not null,
    primary key (tenant, number)
);
-- What is large was compressed before it came here.
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
    -- Which request took it back, so that one whose answer was lost is recognised.
    last_request bigint not null,
    body         bytea not null
);

create index holdpoint_grants_open on holdpoint_grants (tenant, tool, grant_no) where revoked_at is null;
