//! `holdpoint serve`: the server, the console, and a worker inside.

use std::fmt::Display;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use holdpoint::{ReceiptKeys, claim_key, open_store, replace_key};
use holdpoint_config::{ConfigError, Problem};
use holdpoint_server::{Limits, Metrics, ServedAgent, Server, ServerBuilder, Token};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::assemble::{Ready, Shared};
use crate::config::{Config, ServerTable};
use crate::failure::{Failure, Outcome};
use crate::key_file::{self, ServerKey};
use crate::log::{self, LogForm};
use crate::setup::Setup;
use crate::signals;
use crate::stores::StoreArgs;

/// Start the server: HTTP for programs, the console for people, and a worker inside.
///
/// Without a configuration it serves the sample agent, whose model is scripted: no key and no network are needed to see a
/// run, an approval and a result. Without tokens it listens on this machine only.
///
/// Ctrl-C or SIGTERM ends it gracefully: no new runs, streams are told, what was begun is finished or left to others.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Where it listens, in place of `listen` of the configuration; port 0 takes any that is free.
    #[arg(long, value_name = "ADDR")]
    listen: Option<SocketAddr>,
    /// Sign with the key of the key file from now on, although the database knows another one. End all servers first.
    #[arg(long)]
    new_key: bool,
    /// How the log looks.
    #[arg(long, value_enum, default_value_t)]
    log: LogForm,
}

const EXAMPLES: &str = "\
Examples:
  holdpoint serve
  holdpoint serve --config holdpoint.toml --log json
  holdpoint serve --listen 127.0.0.1:8080 --store postgres://app@db/holdpoint

HOLDPOINT_LOG chooses what is logged to standard error, as in HOLDPOINT_LOG=info.
Exit codes: 0 it was told to end, 1 it failed, 2 it could not begin.";

/// 0 when it was told to end, 1 when it failed, 2 when it could not begin.
pub(crate) async fn run(args: ServeArgs) -> Outcome {
    let setup = Setup::find(&args.store.config)?;
    let table = setup.server();
    let listen = args.listen.unwrap_or(table.listen);
    guard(&setup, listen)?;
    let otlp = log::with_traces(args.log, &table)?;
    let key = key_file::load_or_make(&table.signing_key_file).map_err(cannot_begin)?;
    let url = setup.store_url(args.store.store.as_deref());
    let store = open_store(&url).await.map_err(|error| Failure::from(error).before_start())?;
    let claimed =
        if args.new_key { replace_key(&store, &key.receipt).await } else { claim_key(&store, &key.receipt).await };
    claimed.map_err(|error| Failure::from(error).before_start())?;
    let metrics = Metrics::default();
    let shared = Shared { store: metrics.measure(store), receipt_key: Some(key.receipt.clone()) };
    let agents = setup.agents(&shared, None).await?;
    let builder = Server::builder(shared.store.clone()).metrics(metrics);
    let server = server(builder, &setup, &key, &agents)?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| cannot_begin(format!("`{listen}` cannot be listened on: {}", error.kind())))?;
    let address = listener.local_addr().map_err(|error| cannot_begin(error.kind()))?;
    let shutdown = CancellationToken::new();
    let until_told = signals::ends(shutdown.clone()).map_err(|error| cannot_begin(error.kind()))?;
    if key.made {
        eprintln!("made the key that signs receipts: {}", table.signing_key_file.display());
    }
    greet(&setup, address, &url);
    let served = server.serve(listener, shutdown).await;
    until_told.abort();
    log::end(otlp).await;
    served.map_err(|error| Failure::new(error.to_string()))?;
    eprintln!("ended");
    Ok(ExitCode::SUCCESS)
}

/// Without tokens whoever reaches the server may do everything: nobody else may reach it.
fn guard(setup: &Setup, listen: SocketAddr) -> Outcome<()> {
    let tokens = match setup {
        Setup::Sample => 0,
        Setup::File(config) => config.tokens.len(),
    };
    if tokens > 0 || listen.ip().is_loopback() {
        return Ok(());
    }
    let failure = Failure::usage(format!("`{listen}` can be reached from other machines, and no token is configured"));
    Err(failure.hint("add `[[tokens]]` to the configuration, or listen on 127.0.0.1"))
}

fn cannot_begin(error: impl Display) -> Failure {
    Failure::usage(error.to_string())
}

fn server(builder: ServerBuilder, setup: &Setup, key: &ServerKey, agents: &[Ready]) -> Outcome<Server> {
    let table = setup.server();
    let mut builder =
        builder.signing_key(&key.seed).receipt_keys(ReceiptKeys::from(key.receipt.public())).limits(limits(&table));
    for ready in agents {
        let mut served = ServedAgent::new(ready.agent.clone());
        if let Some(description) = &ready.description {
            served = served.description(description.as_str());
        }
        if let Some(rules) = &ready.rules {
            served = served.rules(Arc::clone(rules));
        }
        builder = builder.agent(served);
    }
    if let Setup::File(config) = setup {
        for token in tokens(config)? {
            builder = builder.token(token);
        }
    }
    if table.secure_cookies {
        builder = builder.secure_cookies();
    }
    if !table.worker {
        builder = builder.without_worker();
    }
    builder.build().map_err(cannot_begin)
}

fn limits(table: &ServerTable) -> Limits {
    Limits {
        body_bytes_max: table.max_body_bytes,
        requests_per_second: table.requests_per_second,
        requests_burst: table.requests_burst,
        streams_max: table.max_streams,
        streams_per_token_max: table.max_streams_per_token,
        runs_max: table.max_runs,
        worker_concurrency: table.worker_concurrency,
        shutdown: Duration::from_millis(table.shutdown_ms),
    }
}

fn tokens(config: &Config) -> Result<Vec<Token>, ConfigError> {
    let mut tokens = Vec::new();
    for (index, table) in config.tokens.iter().enumerate() {
        let secret = table.secret(config.document.folder()).and_then(|source| {
            let missing = |error| Problem::new(format_args!("has no secret for the token `{}`: {error}", table.name));
            source.read().map_err(missing)
        });
        let secret = secret.map_err(|problem| config.token_error(index, problem))?;
        let token = Token::new(table.name.as_str(), table.tenant.as_str(), &secret);
        let approves_as = table.approves_as.iter().map(String::as_str);
        tokens.push(token.roles(table.roles.iter().copied()).approves_as(approves_as));
    }
    Ok(tokens)
}

/// The address, and what to do with it. Standard output has the address alone, for scripts.
fn greet(setup: &Setup, address: SocketAddr, store: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "http://{address}");
    let _ = std::io::stdout().flush();
    eprintln!("listening on http://{address}, runs in {}; Ctrl-C ends it", without_password(store));
    eprintln!("  open       http://{address}/");
    eprintln!("  API        http://{address}/docs");
    if matches!(setup, Setup::Sample) {
        eprintln!("\nThe agent `sample` is scripted: no key, no network. In another terminal:");
        eprintln!("  curl -s http://{address}/v1/runs -H 'content-type: application/json' \\");
        eprintln!("    -d '{{\"agent\": \"sample\", \"input\": \"My kettle arrived broken.\"}}'");
        eprintln!("  holdpoint approvals list");
        eprintln!("  holdpoint approvals allow ID");
        eprintln!("`holdpoint init` writes a configuration of your own.");
    }
}

/// An address without what may be a password.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, rest)), Some((_, host))) if rest.contains('@') => {
            let user = rest.split(['@', ':']).next().unwrap_or_default();
            format!("{scheme}://{user}@{}", host.split('?').next().unwrap_or_default())
        }
        _ => url.split('?').next().unwrap_or_default().to_owned(),
    }
}
