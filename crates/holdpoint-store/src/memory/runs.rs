//! All runs in the order of their creation. What is removed gives its room back.

use std::collections::{BTreeMap, HashMap};
use std::mem::size_of;

use holdpoint_core::RunId;

use super::entry::Entry;

/// The number of a run: grows with every run that is created, and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunNo(pub(super) u64);

impl From<i64> for RunNo {
    fn from(number: i64) -> Self {
        Self(number.unsigned_abs())
    }
}

/// No store lives long enough for larger numbers.
impl From<RunNo> for i64 {
    fn from(number: RunNo) -> Self {
        i64::try_from(number.0).unwrap_or(i64::MAX)
    }
}

/// How many runs stand together. A block goes when the last of its runs does.
const BLOCK_RUNS: u64 = 64;
/// How many times more places than runs an index may have before it is made smaller.
const SPARE_MAX: usize = 4;

/// Runs by number and by name.
#[derive(Default)]
pub(super) struct Runs {
    blocks: BTreeMap<u64, Block>,
    numbers: HashMap<RunId, RunNo>,
    next: u64,
}

/// Neighbours. The place of a run in its block follows from its number.
#[derive(Default)]
struct Block {
    /// Boxed, so that the spare room of a growing block is pointers and not runs.
    entries: Vec<Option<Box<Entry>>>,
    live: usize,
}

impl Runs {
    pub(super) fn number_of(&self, run: &RunId) -> Option<RunNo> {
        self.numbers.get(run).copied()
    }

    pub(super) fn get(&self, number: RunNo) -> Option<&Entry> {
        self.blocks.get(&(number.0 / BLOCK_RUNS))?.entries.get(place(number))?.as_deref()
    }

    pub(super) fn get_mut(&mut self, number: RunNo) -> Option<&mut Entry> {
        self.blocks.get_mut(&(number.0 / BLOCK_RUNS))?.entries.get_mut(place(number))?.as_deref_mut()
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
        let block = self.blocks.entry(number.0 / BLOCK_RUNS).or_default();
        // A block that went with all its runs comes back for those that were not created yet.
        block.entries.resize_with(place(number), || None);
        block.entries.push(Some(Box::new(entry)));
        block.live += 1;
        number
    }

    pub(super) fn remove(&mut self, number: RunNo) -> Option<Box<Entry>> {
        let block = self.blocks.get_mut(&(number.0 / BLOCK_RUNS))?;
        let entry = block.entries.get_mut(place(number))?.take()?;
        block.live -= 1;
        if block.live == 0 {
            self.blocks.remove(&(number.0 / BLOCK_RUNS));
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
        let blocks = self.blocks.range(start.0 / BLOCK_RUNS..);
        let all = blocks.flat_map(|(block, within)| within.iter(*block));
        all.skip_while(move |(number, _)| *number < start)
    }

    /// From that number down, the last created first.
    pub(super) fn down_from(&self, start: RunNo) -> impl Iterator<Item = (RunNo, &Entry)> {
        let blocks = self.blocks.range(..=start.0 / BLOCK_RUNS).rev();
        let all = blocks.flat_map(|(block, within)| within.iter(*block).rev());
        all.skip_while(move |(number, _)| *number > start)
    }

    /// The share of one run of the indexes, with their spare room.
    pub(super) fn index_bytes(&self) -> usize {
        // A hash table keeps one byte beside each of its places, and at most seven places of eight are in use.
        let places = self.numbers.capacity() * 8 / 7;
        let names = places * (size_of::<(RunId, RunNo)>() + 1);
        // All blocks but the last are full. A tree keeps twice as many places as it needs, at worst.
        let last = self.blocks.values().next_back().map_or(0, |block| block.entries.capacity());
        let pointers = self.blocks.len().saturating_sub(1) * BLOCK_RUNS as usize + last;
        let blocks = 2 * self.blocks.len() * size_of::<(u64, Block)>() + pointers * size_of::<Option<Box<Entry>>>();
        (names + blocks).div_ceil(self.len().max(1))
    }
}

impl Block {
    fn iter(&self, block: u64) -> impl DoubleEndedIterator<Item = (RunNo, &Entry)> {
        let places = self.entries.iter().enumerate();
        places.filter_map(move |(place, entry)| Some((RunNo(block * BLOCK_RUNS + place as u64), entry.as_deref()?)))
    }
}

fn place(number: RunNo) -> usize {
    (number.0 % BLOCK_RUNS) as usize
}
