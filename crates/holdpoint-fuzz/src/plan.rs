//! What is done to a good file.

use proptest::prelude::*;

/// A good file and what is done to it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which file of the corpus, modulo how many there are.
    pub file: u16,
    /// What is done to it, in order.
    pub edits: Vec<Edit>,
}

/// One edit. Its numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// What is done.
    pub kind: Kind,
    /// To which byte, word, line or value.
    pub at: u32,
    /// With what: how many, which bit, which word, which other one.
    pub with: u32,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One bit is turned.
    FlipBit,
    /// Some bytes are lost.
    CutBytes,
    /// Some bytes come twice.
    RepeatBytes,
    /// Everything after a place is lost.
    End,
    /// The rest comes from another file.
    Splice,
    /// A word (a string, a number, a sign) is lost.
    DropWord,
    /// One from the dictionary stands in its place.
    ReplaceWord,
    /// Another one of the file stands in its place.
    CopyWord,
    /// One from the dictionary stands before it.
    InsertWord,
    /// A line is lost.
    DropLine,
    /// A line comes twice.
    RepeatLine,
    /// A line stands further to the right.
    IndentLine,
    /// A line changes places with another one.
    SwapLines,
    /// A JSON value is taken out of its list or map. This edit and those below leave the document JSON.
    DropValue,
    /// A value of another kind stands in its place.
    RetypeValue,
    /// It is wrapped in lists and maps.
    NestValue,
    /// Another value of the document stands in its place.
    CopyValue,
    /// A member is added to it.
    ExtendValue,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 18] = [
        Kind::FlipBit,
        Kind::CutBytes,
        Kind::RepeatBytes,
        Kind::End,
        Kind::Splice,
        Kind::DropWord,
        Kind::ReplaceWord,
        Kind::CopyWord,
        Kind::InsertWord,
        Kind::DropLine,
        Kind::RepeatLine,
        Kind::IndentLine,
        Kind::SwapLines,
        Kind::DropValue,
        Kind::RetypeValue,
        Kind::NestValue,
        Kind::CopyValue,
        Kind::ExtendValue,
    ];
}

/// Plans with few edits: more of them leave nothing to be understood.
pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let edit = (prop::sample::select(&Kind::ALL[..]), any::<u32>(), any::<u32>());
    let edits = prop::collection::vec(edit.prop_map(|(kind, at, with)| Edit { kind, at, with }), 0..5);
    (any::<u16>(), edits).prop_map(|(file, edits)| Plan { file, edits })
}
