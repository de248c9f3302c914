//! Carries out a plan.

use crate::{Edit, Kind, Plan};

mod values;
mod words;

/// No edit makes a file larger than this: size limits have tests of their own, and small files are quick.
const BYTES_MAX: usize = 1 << 20;

/// The bytes that a plan makes of a corpus.
pub fn mutated(corpus: &[Vec<u8>], plan: &Plan) -> Vec<u8> {
    let Some(file) = pick(corpus, u32::from(plan.file)) else { return Vec::new() };
    let mut bytes = file.clone();
    for edit in &plan.edits {
        carry_out(&mut bytes, *edit, corpus);
        bytes.truncate(BYTES_MAX);
    }
    bytes
}

fn carry_out(bytes: &mut Vec<u8>, edit: Edit, corpus: &[Vec<u8>]) {
    match edit.kind {
        Kind::FlipBit | Kind::CutBytes | Kind::RepeatBytes | Kind::End => edit_bytes(bytes, edit),
        Kind::Splice => splice(bytes, edit, corpus),
        Kind::DropWord | Kind::ReplaceWord | Kind::CopyWord | Kind::InsertWord => edit_word(bytes, edit),
        Kind::DropLine | Kind::RepeatLine | Kind::IndentLine | Kind::SwapLines => edit_line(bytes, edit),
        Kind::DropValue | Kind::RetypeValue | Kind::NestValue | Kind::CopyValue | Kind::ExtendValue => {
            values::edit(bytes, edit);
        }
    }
}

/// `number` modulo `count`, or 0.
fn within(number: u32, count: usize) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).checked_rem(count).unwrap_or(0)
}

fn pick<T>(from: &[T], at: u32) -> Option<&T> {
    from.get(within(at, from.len()))
}

fn edit_bytes(bytes: &mut Vec<u8>, edit: Edit) {
    let from = within(edit.at, bytes.len());
    let to = (from + within(edit.with, 256)).min(bytes.len());
    match edit.kind {
        Kind::FlipBit => bytes.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= 1 << (edit.with % 8)),
        Kind::CutBytes => drop(bytes.drain(from..to)),
        Kind::RepeatBytes => {
            let again = bytes[from..to].to_vec();
            bytes.splice(to..to, again);
        }
        _ => bytes.truncate(from),
    }
}

fn splice(bytes: &mut Vec<u8>, edit: Edit, corpus: &[Vec<u8>]) {
    let Some(other) = pick(corpus, edit.with) else { return };
    let rest = &other[within(edit.at, other.len())..];
    bytes.truncate(within(edit.at, bytes.len()));
    bytes.extend(rest);
}

fn edit_word(bytes: &mut Vec<u8>, edit: Edit) {
    let found = words::words(bytes);
    let Some(place) = pick(&found, edit.at).cloned() else { return };
    let known = || words::DICTIONARY[within(edit.with, words::DICTIONARY.len())].as_bytes().to_vec();
    match edit.kind {
        Kind::ReplaceWord => bytes.splice(place, known()),
        Kind::CopyWord => {
            let other = pick(&found, edit.with).map(|other| bytes[other.clone()].to_vec());
            bytes.splice(place, other.unwrap_or_default())
        }
        Kind::InsertWord => bytes.splice(place.start..place.start, known()),
        _ => bytes.splice(place, Vec::new()),
    };
}

fn edit_line(bytes: &mut Vec<u8>, edit: Edit) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return;
    }
    let (at, other) = (within(edit.at, lines.len()), within(edit.with, lines.len()));
    match edit.kind {
        Kind::RepeatLine => lines.insert(at, lines[at].clone()),
        Kind::IndentLine => drop(lines[at].splice(0..0, std::iter::repeat_n(b' ', within(edit.with, 8)))),
        Kind::SwapLines => lines.swap(at, other),
        _ => drop(lines.remove(at)),
    }
    *bytes = lines.concat();
}

#[cfg(test)]
mod tests;
