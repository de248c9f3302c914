//! The run that a resume names: found in the store, or brought by a payload.

use std::sync::Arc;

use holdpoint_codec::{Context, LoadOptions, Trust, Unsigned, continuation, imported_run, new_run};
use holdpoint_core::{Attributes, CallId, CallIndex, Digest, Input, Rejection, Run, RunId, Snapshot, Status, Target};

use super::point::{Prepared, RunSource};
use crate::entry::result::Carried;
use crate::parts::{Parts, UnsignedImports};
use crate::{Error, ResumeFrom};

/// A run that is to be resumed.
pub(super) struct Found {
    run: Run,
    /// The run to bring into the store first, when the store does not know it.
    import: Option<Import>,
    pub(super) target: Target,
    pub(super) context: Context,
    shown: Shown,
    extra: Arc<Attributes>,
}

/// A run that a payload brings.
struct Import {
    snapshot: Arc<Snapshot>,
    run: Run,
}

/// Which run the caller saw. Decisions without a digest of their own are about its questions.
enum Shown {
    /// None.
    Nothing,
    /// The run as it was found.
    Found,
    /// The run of the caller's own object.
    Own(Arc<Run>),
}

impl Found {
    /// A run that the store knows.
    pub(super) fn known(run: Run, target: Target, brought: Context) -> Self {
        let context = brought.merged(&Context::from_stored(run.context()));
        Self { run, import: None, target, context, shown: Shown::Nothing, extra: Arc::default() }
    }

    fn imported(id: &RunId, snapshot: Snapshot, target: Target, context: Context) -> Self {
        let snapshot = Arc::new(snapshot);
        let import = Import { run: imported_run(id.clone(), Arc::clone(&snapshot)), snapshot };
        let (shown, extra) = (Shown::Nothing, Arc::default());
        Self { run: new_run(id.clone()), import: Some(import), target, context, shown, extra }
    }

    /// Finds the run that a resume names.
    pub(super) async fn read(source: RunSource<'_>, from: &ResumeFrom) -> Result<Self, Error> {
        match from {
            ResumeFrom::Ended(id) => {
                let run = source.run(id).await?;
                Err(match run.status() {
                    Status::Cancelled => Rejection::RunCancelled.into(),
                    _ if run.pauses().0 == 0 => Rejection::ContinuationNotFound.into(),
                    _ => Rejection::StaleContinuation { current: run.continuation() }.into(),
                })
            }
            ResumeFrom::Id(id) => {
                let run = source.find(&id.run).await?.ok_or(Rejection::ContinuationNotFound)?;
                // A continuation stands for one state: naming it names the questions of that state.
                let is_current = run.continuation().as_ref() == Some(id);
                let found = Self::known(run, Target::Continuation(id.clone()), Context::new());
                Ok(if is_current { Self { shown: Shown::Found, ..found } } else { found })
            }
            ResumeFrom::Batch(id) => {
                let run = source.find(&id.run).await?.ok_or(Rejection::ContinuationNotFound)?;
                Ok(Self::known(run, Target::Batch(id.clone()), Context::new()))
            }
            ResumeFrom::Object(object) => {
                let target = Target::Continuation(object.id().clone());
                let context = Context::clone(object.context());
                let parts = source.parts;
                let found = match source.find(object.run_id()).await? {
                    Some(run) => Self::known(run, target, context),
                    None => {
                        expect_trusted(parts, object.trust())?;
                        let snapshot = object.run().snapshot().ok_or(Rejection::ContinuationNotFound)?;
                        Self::imported(object.run_id(), snapshot, target, context)
                    }
                };
                Ok(Self { shown: Shown::Own(Arc::clone(object.run())), extra: Arc::clone(object.extra()), ..found })
            }
            ResumeFrom::Json(text) => Self::read_payload(source, text).await,
            ResumeFrom::BatchOf(pause) => {
                let found = Box::pin(Self::read(source, pause)).await?;
                Ok(match found.shown() {
                    Some(shown) => Self { target: Target::Batch(shown.batch()), ..found },
                    None => found,
                })
            }
        }
    }

    async fn read_payload(source: RunSource<'_>, text: &str) -> Result<Self, Error> {
        let parts = source.parts;
        let loaded = read_payload(parts, text)?;
        let target = Target::Continuation(loaded.continuation_id);
        let extra = Arc::new(loaded.extra);
        // If the store knows the run, the store is the truth and the payload only names it.
        let Some(run) = source.find(&loaded.run_id).await? else {
            expect_trusted(parts, loaded.trust)?;
            let found = Self::imported(&loaded.run_id, loaded.snapshot, target, loaded.context);
            return Ok(Self { shown: Shown::Found, extra, ..found });
        };
        let shown = Shown::Own(Arc::new(imported_run(loaded.run_id, Arc::new(loaded.snapshot))));
        Ok(Self { shown, extra, ..Self::known(run, target, loaded.context) })
    }

    /// The run as people saw it: the import's, or the store's.
    pub(super) fn seen(&self) -> &Run {
        self.import.as_ref().map_or(&self.run, |import| &import.run)
    }

    fn shown(&self) -> Option<&Run> {
        match &self.shown {
            Shown::Nothing => None,
            Shown::Found => Some(self.seen()),
            Shown::Own(run) => Some(run),
        }
    }

    /// The digest of the question about a call that the caller saw.
    pub(super) fn shown_digest(&self, call: &CallId) -> Option<Digest> {
        let shown = self.shown()?;
        shown.question_digest(index_of(shown, call)?)
    }

    /// The run with the input that resumes it.
    pub(super) fn prepared(self, context: &Context, input: Input) -> Prepared {
        let context = self.context.merged(context).by(self.seen().actor().clone());
        let import = self.import.map(|import| Input::Imported(import.snapshot));
        let prepared = Prepared::with_context(self.run, context, import.into_iter().chain([input]).collect());
        Prepared { carried: Carried { extra: self.extra, ..prepared.carried }, ..prepared }
    }
}

/// Reads and checks a payload. Whether it may bring a run that the store does not know is decided later.
pub(super) fn read_payload(parts: &Parts, text: &str) -> Result<continuation::Loaded, Error> {
    let options = LoadOptions {
        keys: parts.signing_key.as_slice(),
        migrate: parts.migrate.as_deref(),
        // With a key nothing unsigned is looked at.
        unsigned: if parts.signing_key.is_some() { Unsigned::Refuse } else { Unsigned::Accept },
        ..LoadOptions::default()
    };
    Ok(continuation::load(text, &options)?)
}

fn expect_trusted(parts: &Parts, trust: Trust) -> Result<(), Error> {
    match (trust, parts.unsigned_imports) {
        (Trust::Unsigned, UnsignedImports::Refuse) => Err(Error::UnsignedImport),
        (Trust::Unsigned, UnsignedImports::Accept) | (Trust::Signed, _) => Ok(()),
    }
}

/// The call that is shown under this id.
pub(super) fn index_of(run: &Run, call: &CallId) -> Option<CallIndex> {
    run.calls().iter().position(|known| known.id == *call).map(CallIndex::from_usize)
}
