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
CREATE SEQUENCE public.holdpoint_fences
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.holdpoint_log (
    run_no bigint NOT NULL,
    last_seq bigint NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    audit bytea
);
ALTER TABLE ONLY public.holdpoint_log ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE TABLE public.holdpoint_runs (
    run_no bigint NOT NULL,
    run_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    status smallint NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    pause bigint,
    deadline bigint,
    owner text,
    free_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    last_commit bigint NOT NULL
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
CREATE TABLE public.holdpoint_tasks (
    task_no bigint NOT NULL,
    run_no bigint NOT NULL,
    turn bigint NOT NULL,
    place bigint NOT NULL,
    agent text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
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
INSERT INTO public.holdpoint_log VALUES (1, 2, 1700000000000000, '\x000b0000007b22626567616e223a317d060000007365636f6e64', '\x7b2276223a317d');
INSERT INTO public.holdpoint_log VALUES (1, 3, 1700000000000000, '\x0184250000f20d802500007468652073616d6520776f72647320616761696e20616e640a002f2e202000ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff6c606761696e2e20', NULL);
INSERT INTO public.holdpoint_log VALUES (2, 1, 1700000000000000, '\x0006000000706175736564', NULL);
INSERT INTO public.holdpoint_runs OVERRIDING SYSTEM VALUE VALUES (1, 'finished', 3, 3, 'agent', NULL, NULL, NULL, NULL, 1735689600000000, 1700000000000000, 1700000000000000, -5040412426042476731);
INSERT INTO public.holdpoint_runs OVERRIDING SYSTEM VALUE VALUES (2, 'paused', 1, 2, 'agent', 'acme', 1, 1800000000000000, NULL, 1735689600000000, 1700000000000000, 1700000000000000, -5328330833786682271);
INSERT INTO public.holdpoint_schema VALUES (1, '2026-11-16 00:29:58.714013+00');
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (1, 2, 1, 0, 'agent', 'acme', 'waits', 0, 3, 0, NULL, 1700000000000000, 0, 1735689600000000, 0, NULL, NULL, 0, NULL, '\x7b22746f223a2262616e6b227d', NULL);
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (2, 2, 1, 1, 'agent', 'acme', 'leased', 1, 3, 0, NULL, 1700000000000000, 1, 1735689660000000, 1, 'worker', 1735689600000000, -7846849057456461374, NULL, '\x7b22746f223a2262616e6b227d', NULL);
INSERT INTO public.holdpoint_tasks OVERRIDING SYSTEM VALUE VALUES (3, 2, 1, 2, 'agent', 'acme', 'delivered', 1, 3, 0, NULL, 1700000000000000, 2, 1735689660000000, 2, 'worker', 1735689600000000, -6560061814716325806, 3, '\x7b22746f223a2262616e6b227d', '\x646f6e65');
SELECT pg_catalog.setval('public.holdpoint_fences', 3, true);
SELECT pg_catalog.setval('public.holdpoint_runs_run_no_seq', 2, true);
SELECT pg_catalog.setval('public.holdpoint_tasks_task_no_seq', 3, true);
ALTER TABLE ONLY public.holdpoint_log
    ADD CONSTRAINT holdpoint_log_pkey PRIMARY KEY (run_no, last_seq);
ALTER TABLE ONLY public.holdpoint_runs
    ADD CONSTRAINT holdpoint_runs_pkey PRIMARY KEY (run_no);
ALTER TABLE ONLY public.holdpoint_runs
    ADD CONSTRAINT holdpoint_runs_run_id_key UNIQUE (run_id);
ALTER TABLE ONLY public.holdpoint_schema
    ADD CONSTRAINT holdpoint_schema_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.holdpoint_tasks
    ADD CONSTRAINT holdpoint_tasks_pkey PRIMARY KEY (task_no);
ALTER TABLE ONLY public.holdpoint_tasks
    ADD CONSTRAINT holdpoint_tasks_run_no_turn_place_key UNIQUE (run_no, turn, place);
CREATE INDEX holdpoint_runs_claimable ON public.holdpoint_runs USING btree (agent, free_at, run_no) WHERE (status = 0);
CREATE INDEX holdpoint_runs_due ON public.holdpoint_runs USING btree (agent, deadline, run_no) WHERE (deadline IS NOT NULL);
CREATE INDEX holdpoint_runs_open ON public.holdpoint_runs USING btree (status, run_no) WHERE (status < 3);
CREATE INDEX holdpoint_runs_over ON public.holdpoint_runs USING btree (updated_at, run_no) WHERE (status >= 3);
CREATE INDEX holdpoint_tasks_delivered ON public.holdpoint_tasks USING btree (agent, run_no) WHERE (state = 2);
CREATE INDEX holdpoint_tasks_leased ON public.holdpoint_tasks USING btree (agent, ready_at, task_no) WHERE (state = 1);
CREATE INDEX holdpoint_tasks_waiting ON public.holdpoint_tasks USING btree (agent, tool, ready_at, task_no) WHERE (state = 0);
CREATE INDEX holdpoint_tasks_waiting_of_tenant ON public.holdpoint_tasks USING btree (tenant, agent, tool, ready_at, task_no) WHERE ((state = 0) AND (tenant IS NOT NULL));
