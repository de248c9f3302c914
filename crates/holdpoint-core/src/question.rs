//! A question to a person about a call: whether it may run, whether it happened, or what its tool wants to know.

use std::sync::Arc;

use crate::named::named;
use crate::{
    Actor, Answer, Arguments, Attempt, Call, CallIndex, Digest, Doubt, Ground, Run, RunId, Terms, Timestamp, ToolName,
    ToolResult, Turn,
};

named! {
    /// What a question is about.
    pub enum QuestionKind {
        /// May the call run?
        Permission = "permission",
        /// The call was started and has no result. Did it happen?
        Doubt = "doubt",
        /// The tool was started and asks for something before it goes on.
        Input = "input",
    }
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// Counts the questions about its call, from 1. A question that shows something else is another one.
    pub number: u32,
    /// Why it is asked.
    pub ground: Ground,
    /// Who may answer, how many must.
    pub terms: Terms,
    /// Past this moment the call is expired.
    pub deadline: Option<Timestamp>,
    /// Answers short of the quorum, in order.
    pub answers: Vec<QuestionAnswer>,
    /// What is doubted, if the call was started and has no result.
    pub doubt: Option<Doubt>,
}

/// One person's answer to a question that needs several.
#[derive(Clone, Debug)]
pub struct QuestionAnswer {
    /// Who.
    pub actor: Actor,
    /// What they said.
    pub stated: Stated,
    /// Whether a grant said it for them: they may still refuse this call.
    pub standing: bool,
    /// When.
    pub at: Timestamp,
    /// Why, if they said so.
    pub reason: Option<Arc<str>>,
}

/// What several people must say alike.
#[derive(Clone, Debug)]
pub enum Stated {
    /// Run it.
    Approve,
    /// Take this in place of the tool's result, or give it to the tool that asked.
    Supply(Arc<ToolResult>),
    /// It happened, with this result.
    Happened(Arc<ToolResult>),
}

impl Stated {
    /// What an answer states. Nothing for a refusal, which needs no second person, and for an edit, which makes another
    /// question.
    pub fn of(answer: &Answer) -> Option<Self> {
        match answer {
            Answer::Approve => Some(Stated::Approve),
            Answer::Supply(result) => Some(Stated::Supply(Arc::clone(result))),
            Answer::Happened(result) => Some(Stated::Happened(Arc::clone(result))),
            Answer::ApproveEdited(_) | Answer::Refuse { .. } => None,
        }
    }

    /// Whether both say the same.
    pub fn same_as(&self, other: &Stated) -> bool {
        match (self, other) {
            (Stated::Approve, Stated::Approve) => true,
            (Stated::Supply(one), Stated::Supply(other)) | (Stated::Happened(one), Stated::Happened(other)) => {
                one.same_as(other)
            }
            (Stated::Approve | Stated::Supply(_) | Stated::Happened(_), _) => false,
        }
    }
}

impl Question {
    /// What it is about.
    pub fn kind(&self) -> QuestionKind {
        match &self.doubt {
            None => QuestionKind::Permission,
            Some(Doubt { asks: Some(_), .. }) => QuestionKind::Input,
            Some(Doubt { asks: None, .. }) => QuestionKind::Doubt,
        }
    }

    /// Those who approved so far, in order.
    pub fn approvals(&self) -> impl Iterator<Item = &Actor> {
        let approved = self.answers.iter().filter(|answer| matches!(answer.stated, Stated::Approve));
        approved.map(|answer| &answer.actor)
    }

    /// What this person said so far.
    pub fn answer_of(&self, actor: &Actor) -> Option<&QuestionAnswer> {
        self.answers.iter().find(|answer| answer.actor.id == actor.id)
    }

    /// Whether as many people as must have said this.
    pub(crate) fn has_quorum(&self, stated: &Stated) -> bool {
        let agreeing = self.answers.iter().filter(|answer| answer.stated.same_as(stated)).count();
        agreeing >= self.terms.quorum.max(1) as usize
    }
}

/// Everything that a question shows, for whoever makes its digest.
#[derive(Clone, Copy, Debug)]
pub struct QuestionFacts<'a> {
    /// What it is about.
    pub kind: QuestionKind,
    /// The run of the call.
    pub run: &'a RunId,
    /// The turn of the call.
    pub turn: Turn,
    /// Its position in the turn.
    pub index: CallIndex,
    /// Which question about the call it is.
    pub number: u32,
    /// How often the call was started.
    pub attempt: Attempt,
    /// The registered tool.
    pub tool: &'a ToolName,
    /// Covers the tool's name and the arguments.
    pub arguments: Digest,
    /// Stands for the whole definition of the tool.
    pub definition: Option<&'a str>,
    /// Who may answer, how many must.
    pub terms: &'a Terms,
    /// What the tool asks.
    pub asks: Option<&'a ToolResult>,
}

/// Makes the digest of a question. The codec has one; the core compares digests and never makes them.
pub type QuestionDigest = fn(&QuestionFacts<'_>) -> Digest;

impl Run {
    /// The digest of the open question about a call: what is shown with it, and what an answer must name.
    pub fn question_digest(&self, index: CallIndex) -> Option<Digest> {
        self.call(index).and_then(|call| self.digest_of_question(index, call))
    }

    pub(crate) fn digest_of_question(&self, index: CallIndex, call: &Call) -> Option<Digest> {
        call.question_facts(&self.id, self.turn, index).map(|facts| (self.digests.0)(&facts))
    }
}

impl Call {
    /// What the open question about this call shows.
    pub fn question_facts<'a>(&'a self, run: &'a RunId, turn: Turn, index: CallIndex) -> Option<QuestionFacts<'a>> {
        let question = self.question()?;
        let facts = self.tool.as_ref()?;
        Some(QuestionFacts {
            kind: question.kind(),
            run,
            turn,
            index,
            number: question.number,
            attempt: self.attempts,
            tool: &facts.name,
            arguments: self.canonical().map(Arguments::digest)?,
            definition: facts.definition.as_deref(),
            terms: &question.terms,
            asks: self.asks().map(|asks| &**asks),
        })
    }
}
