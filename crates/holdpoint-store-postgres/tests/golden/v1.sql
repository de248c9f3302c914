SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.holdpoint_approvals (
    run_no bigint NOT NULL,
    turn bigint NOT NULL,
    call_index bigint NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    kind smallint NOT NULL,
    status smallint NOT NULL,
    deadline bigint,
    due bigint NOT NULL,
    asked_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    asked_no bigint NOT NULL,
    seq bigint NOT NULL,
    body bytea NOT NULL,
    note bytea NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05');
CREATE SEQUENCE public.holdpoint_asked
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE SEQUENCE public.holdpoint_fences
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
CREATE TABLE public.holdpoint_grants (
    grant_no bigint NOT NULL,
    grant_id text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    until bigint,
    created_at bigint NOT NULL,
    revoked_by text,
    revoked_at bigint,
    last_request bigint NOT NULL,
    body bytea NOT NULL
);
ALTER TABLE public.holdpoint_grants ALTER COLUMN grant_no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.holdpoint_grants_grant_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.holdpoint_log (
    run_no bigint NOT NULL,
    last_seq bigint NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    audit bytea,
    audit_no bigint,
    link bytea
);
ALTER TABLE ONLY public.holdpoint_log ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.holdpoint_responses (
    request text NOT NULL COLLATE pg_catalog."C",
    digest bytea NOT NULL,
    begun_at bigint NOT NULL,
    last_request bigint NOT NULL,
    tries bigint DEFAULT 1 NOT NULL,
    response bytea
);
ALTER TABLE ONLY public.holdpoint_responses ALTER COLUMN response SET STORAGE EXTERNAL;
CREATE TABLE public.holdpoint_runs (
    run_no bigint NOT NULL,
    run_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    status smallint NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    pause bigint,
    deadline bigint,
    owner text,
    lease_until bigint NOT NULL,
    lease_ms bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_commit bigint NOT NULL,
    audit_revision bigint NOT NULL,
    audit_rows bigint NOT NULL,
    audit_link bytea NOT NULL,
    sealed_revision bigint DEFAULT 0 NOT NULL,
    seal_no bigint DEFAULT 0 NOT NULL,
    session text COLLATE pg_catalog."C",
    alone boolean NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE public.holdpoint_runs ALTER COLUMN run_no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.holdpoint_runs_run_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.holdpoint_schema (
    version integer NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);
CREATE TABLE public.holdpoint_seals (
    tenant text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    at bigint NOT NULL,
    link bytea NOT NULL,
    runs bytea NOT NULL
);
ALTER TABLE ONLY public.holdpoint_seals ALTER COLUMN runs SET STORAGE EXTERNAL;
CREATE TABLE public.holdpoint_settings (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.holdpoint_tasks (
    task_no bigint NOT NULL,
    run_no bigint NOT NULL,
    turn bigint NOT NULL,
    call_index bigint NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    attempts_max bigint NOT NULL,
    repeat smallint NOT NULL,
    deadline bigint,
    created_at bigint NOT NULL,
    state smallint NOT NULL,
    ready_at bigint NOT NULL,
    fence bigint NOT NULL,
    worker text,
    since bigint,
    lease_ms bigint,
    last_request bigint NOT NULL,
    delivery bigint,
    body bytea NOT NULL,
    result bytea
)
WITH (autovacuum_vacuum_scale_factor='0.02');
ALTER TABLE public.holdpoint_tasks ALTER COLUMN task_no ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.holdpoint_tasks_task_no_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.holdpoint_tombstones (
    tenant text NOT NULL COLLATE pg_catalog."C",
    run_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    link bytea NOT NULL,
    seal bigint NOT NULL,
    at bigint NOT NULL
);
CREATE TABLE public.holdpoint_workers (
    tenant text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    tools bytea NOT NULL,
    since bigint NOT NULL,
    seen_at bigint NOT NULL
);
INSERT INTO public.holdpoint_approvals VALUES (3, 1, 7, 'agent', '=acme', 'waits', 1, 0, NULL, 9223372036854775807, 1700000000000000, 1700000000000000, 1, 16156, '\x00070000007b2276223a317d', '\x');
INSERT INTO public.holdpoint_grants OVERRIDING SYSTEM VALUE VALUES (1, 'grant', '', 'waits', NULL, 1700000000000000, NULL, NULL, 0, '\x7b7d');
INSERT INTO public.holdpoint_log VALUES (2, 2, 1700000000000000, '\x000b0000007b22626567616e223a317d060000007365636f6e64', '\x7b2276223a317d', 1, '\xaaba956d7469db5e782396e703b1e29e129d0dec096de5e0c70fd2e1b3942063');
INSERT INTO public.holdpoint_log VALUES (2, 3, 1700000000000000, '\x0184250000f20d802500007468652073616d6520776f72647320616761696e20616e640a002f2e202000ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff6c606761696e2e20', NULL, NULL, NULL);
INSERT INTO public.holdpoint_log VALUES (3, 1, 1700000000000000, '\x0006000000706175736564', NULL, NULL, NULL);
INSERT INTO public.holdpoint_responses VALUES ('4:desk13:POST /v1/runsk1', '\x0707070707070707070707070707070707070707070707070707070707070707', 1735689600000000, -6898577880428348359, 1, '\x0008000000726573706f6e7365');
INSERT INTO public.holdpoint_runs OVERRIDING SYSTEM VALUE VALUES (2, 'finished', 3, 3, 'agent', '', NULL, NULL, NULL, 1735689600000000, 0, 1700000000000000, 1700000000000000, -8233918126320314554, 2, 1, '\xaaba956d7469db5e782396e703b1e29e129d0dec096de5e0c70fd2e1b3942063', 0, 0, NULL, false);
INSERT INTO public.holdpoint_runs OVERRIDING SYSTEM VALUE VALUES (3, 'paused', 1, 2, 'agent', '=acme', 1, 1800000000000000, NULL, 1735689600000000, 0, 1700000000000000, 1700000000000000, -7627302707253471815, 0, 0, '\x66364d247496d84e4492490829495f253ab90dce9e3292322b68831db18f92da', 0, 0, 'talk', true);
INSERT INTO public.holdpoint_schema VALUES (1, '2026-11-18 04:23:47.623934+00');
INSERT INTO public.holdpoint_seals VALUES ('', 1, 1735689600000000, '\x466f9793fd6d05c28c95e54b153c54b10d26be2d54f7aa606fd505c10ae439ce', '\x002c000000000000000000000134360cb36e756a39271b82ab5add92a75ca7f9e74d3b8ac8aabc8f1d937375a6676f6e65');
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (1, 3, 1, 0, 'agent', '=acme', 'waits', 0, 3, 0, NULL, 1700000000000000, 0, 1735689600000000, 0, NULL, NULL, NULL, 0, NULL, '\x000d0000007b22746f223a2262616e6b227d', NULL);
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (2, 3, 1, 1, 'agent', '=acme', 'leased', 1, 3, 0, NULL, 1700000000000000, 1, 1735689660000000, 1, 'worker', 1735689600000000, 60000, -8694659718128586897, NULL, '\x000d0000007b22746f223a2262616e6b227d', NULL);
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (3, 3, 1, 2, 'agent', '=acme', 'delivered', 1, 3, 0, NULL, 1700000000000000, 2, 1735689660000000, 2, 'worker', 1735689600000000, 60000, -7150145611875108747, 3, '\x000d0000007b22746f223a2262616e6b227d', '\x0004000000646f6e65');
INSERT INTO public.holdpoint_tombstones VALUES ('', 'gone', 1, '\x34360cb36e756a39271b82ab5add92a75ca7f9e74d3b8ac8aabc8f1d937375a6', 1, 1735689600000000);
INSERT INTO public.holdpoint_workers VALUES ('=acme', 'worker', '\x00050000007761697473', 1735689600000000, 1735689600000000);
SELECT pg_catalog.setval('public.holdpoint_asked', 1, true);
SELECT pg_catalog.setval('public.holdpoint_fences', 3, true);
SELECT pg_catalog.setval('public.holdpoint_grants_grant_no_seq', 1, true);
SELECT pg_catalog.setval('public.holdpoint_runs_run_no_seq', 3, true);
SELECT pg_catalog.setval('public.holdpoint_tasks_task_no_seq', 3, true);
ALTER TABLE ONLY public.holdpoint_approvals
    ADD CONSTRAINT holdpoint_approvals_pkey PRIMARY KEY (run_no, turn, call_index);
ALTER TABLE ONLY public.holdpoint_grants
    ADD CONSTRAINT holdpoint_grants_grant_id_key UNIQUE (grant_id);
ALTER TABLE ONLY public.holdpoint_grants
    ADD CONSTRAINT holdpoint_grants_pkey PRIMARY KEY (grant_no);
ALTER TABLE ONLY public.holdpoint_log
    ADD CONSTRAINT holdpoint_log_pkey PRIMARY KEY (run_no, last_seq);
ALTER TABLE ONLY public.holdpoint_responses
    ADD CONSTRAINT holdpoint_responses_pkey PRIMARY KEY (request);
ALTER TABLE ONLY public.holdpoint_runs
    ADD CONSTRAINT holdpoint_runs_pkey PRIMARY KEY (run_no);
ALTER TABLE ONLY public.holdpoint_runs
    ADD CONSTRAINT holdpoint_runs_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.holdpoint_schema
    ADD CONSTRAINT holdpoint_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.holdpoint_seals
    ADD CONSTRAINT holdpoint_seals_pkey PRIMARY KEY (tenant, number);
ALTER TABLE ONLY public.holdpoint_settings
    ADD CONSTRAINT holdpoint_settings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.holdpoint_tasks
    ADD CONSTRAINT holdpoint_tasks_pkey PRIMARY KEY (task_no);
ALTER TABLE ONLY public.holdpoint_tasks
    ADD CONSTRAINT holdpoint_tasks_run_no_turn_call_index_key UNIQUE (run_no, turn, call_index);
ALTER TABLE ONLY public.holdpoint_tombstones
    ADD CONSTRAINT holdpoint_tombstones_pkey PRIMARY KEY (tenant, run_id, link);
ALTER TABLE ONLY public.holdpoint_workers
    ADD CONSTRAINT holdpoint_workers_pkey PRIMARY KEY (tenant, name);
CREATE INDEX holdpoint_approvals_changed ON public.holdpoint_approvals USING btree (seq);
CREATE INDEX holdpoint_approvals_changed_of_tenant ON public.holdpoint_approvals USING btree (tenant, seq);
CREATE INDEX holdpoint_approvals_ended_of_tenant ON public.holdpoint_approvals USING btree (tenant, status, seq, asked_no) WHERE (status > 0);
CREATE INDEX holdpoint_approvals_pending ON public.holdpoint_approvals USING btree (due, asked_no) WHERE (status = 0);
CREATE INDEX holdpoint_approvals_pending_of_tenant ON public.holdpoint_approvals USING btree (tenant, due, asked_no) WHERE (status = 0);
CREATE INDEX holdpoint_grants_open ON public.holdpoint_grants USING btree (tenant, tool, grant_no) WHERE (revoked_at IS NULL);
CREATE INDEX holdpoint_responses_by_age ON public.holdpoint_responses USING btree (begun_at);
CREATE UNIQUE INDEX holdpoint_runs_alone ON public.holdpoint_runs USING btree (session, tenant) WHERE alone;
CREATE INDEX holdpoint_runs_audited ON public.holdpoint_runs USING btree (tenant, run_id);
CREATE INDEX holdpoint_runs_by_session ON public.holdpoint_runs USING btree (session, tenant, run_no) WHERE (session IS NOT NULL);
CREATE INDEX holdpoint_runs_claimable ON public.holdpoint_runs USING btree (agent, lease_until, run_no) WHERE (status = 0);
CREATE INDEX holdpoint_runs_due ON public.holdpoint_runs USING btree (agent, deadline, run_no) WHERE (deadline IS NOT NULL);
CREATE INDEX holdpoint_runs_open ON public.holdpoint_runs USING btree (status, run_no) WHERE (status < 3);
CREATE INDEX holdpoint_runs_over ON public.holdpoint_runs USING btree (updated_at, run_no) WHERE (status >= 3);
CREATE INDEX holdpoint_runs_to_seal ON public.holdpoint_runs USING btree (tenant, run_no) WHERE (audit_revision > sealed_revision);
CREATE INDEX holdpoint_runs_with_session ON public.holdpoint_runs USING btree (tenant, run_no) WHERE (session IS NOT NULL);
CREATE INDEX holdpoint_tasks_by_worker ON public.holdpoint_tasks USING btree (worker) WHERE (state = 1);
CREATE INDEX holdpoint_tasks_delivered ON public.holdpoint_tasks USING btree (agent, run_no) WHERE (state = 2);
CREATE INDEX holdpoint_tasks_leased ON public.holdpoint_tasks USING btree (agent, ready_at, task_no) WHERE (state = 1);
CREATE INDEX holdpoint_tasks_waiting ON public.holdpoint_tasks USING btree (agent, tool, ready_at, task_no) WHERE (state = 0);
CREATE INDEX holdpoint_tasks_waiting_of_tenant ON public.holdpoint_tasks USING btree (tenant, agent, tool, ready_at, task_no) WHERE ((state = 0) AND (tenant > ''::text));
CREATE INDEX holdpoint_workers_seen ON public.holdpoint_workers USING btree (seen_at);
