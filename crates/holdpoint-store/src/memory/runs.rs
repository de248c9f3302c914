//! All runs in the order of their creation. What is removed gives its room back.

use std::collections::{BTreeMap, HashMap};

use holdpoint_core::RunId;

use super::entry::Entry;

/// The number of a run: grows with every run that is created, and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunNo(pub(super) i64);

/// How many runs stand together. A block goes when the last of its runs does.
pub(super) const BLOCK_RUNS: u8 = 64;
/// How many times more places than runs an index may have before it is made smaller.
const SPARE_MAX: usize = 4;

/// Runs by number and by name.
#[derive(Default)]
pub(super) struct Runs {
    pub(super) blocks: BTreeMap<i64, Block>,
    pub(super) numbers: HashMap<RunId, RunNo>,
    next: i64,
}

/// Neighbours. The place of a run in its block follows from its number.
#[derive(Default)]
pub(super) struct Block {
    /// Boxed, so that the spare room of a growing block is pointers and not runs.
    pub(super) entries: Vec<Option<Box<Entry>>>,
    live: usize,
}

impl Runs {
    pub(super) fn number_of(&self, run: &RunId) -> Option<RunNo> {
        self.numbers.get(run).copied()
    }

    pub(super) fn get(&self, number: RunNo) -> Option<&Entry> {
        self.blocks.get(&block_of(number))?.entries.get(place(number))?.as_deref()
    }

    pub(super) fn get_mut(&mut self, number: RunNo) -> Option<&mut Entry> {
        self.blocks.get_mut(&block_of(number))?.entries.get_mut(place(number))?.as_deref_mut()
    }

    pub(super) fn find(&self, run: &RunId) -> Option<(RunNo, &Entry)> {
        let number = self.number_of(run)?;
        Some((number, self.get(number)?))
    }

    /// Adds a run that is not there yet.
    pub(super) fn add(&mut self, entry: Entry) -> RunNo {
        let number = RunNo(self.next);
        self.next += 1;
        self.numbers.insert(entry.run.clone(), number);
        let block = self.blocks.entry(block_of(number)).or_default();
        // A block that went with all its runs comes back for those that were not created yet.
        block.entries.resize_with(place(number), || None);
        block.entries.push(Some(Box::new(entry)));
        block.live += 1;
        number
    }

    pub(super) fn remove(&mut self, number: RunNo) -> Option<Box<Entry>> {
        let block = self.blocks.get_mut(&block_of(number))?;
        let entry = block.entries.get_mut(place(number))?.take()?;
        block.live -= 1;
        if block.live == 0 {
            self.blocks.remove(&block_of(number));
        }
        self.numbers.remove(&entry.run);
        if self.numbers.capacity() > SPARE_MAX * self.numbers.len() {
            self.numbers.shrink_to(2 * self.numbers.len());
        }
        Some(entry)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The first created first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (RunNo, &Entry)> {
        self.blocks.iter().flat_map(|(block, within)| within.iter(*block))
    }

    /// From that number on, the first created first.
    pub(super) fn from(&self, start: RunNo) -> impl Iterator<Item = (RunNo, &Entry)> {
        let blocks = self.blocks.range(block_of(start)..);
        let all = blocks.flat_map(|(block, within)| within.iter(*block));
        all.skip_while(move |(number, _)| *number < start)
    }

    /// From that number down, the last created first.
    pub(super) fn down_from(&self, start: RunNo) -> impl Iterator<Item = (RunNo, &Entry)> {
        let blocks = self.blocks.range(..=block_of(start)).rev();
        let all = blocks.flat_map(|(block, within)| within.iter(*block).rev());
        all.skip_while(move |(number, _)| *number > start)
    }
}

impl Block {
    fn iter(&self, block: i64) -> impl DoubleEndedIterator<Item = (RunNo, &Entry)> {
        let places = (0..BLOCK_RUNS).zip(&self.entries);
        places.filter_map(move |(place, entry)| {
            Some((RunNo(block * i64::from(BLOCK_RUNS) + i64::from(place)), entry.as_deref()?))
        })
    }
}

fn block_of(number: RunNo) -> i64 {
    number.0 / i64::from(BLOCK_RUNS)
}

fn place(number: RunNo) -> usize {
    usize::try_from(number.0 % i64::from(BLOCK_RUNS)).unwrap_or_default()
}
