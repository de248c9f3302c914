//! The ledger in memory, put in order: executions, processes, looks.

use std::collections::{BTreeMap, HashMap};

use crate::ledger::{About, Fact, Place, Point};

/// The place of a line in the ledger.
pub(crate) type Line = u64;

/// One execution of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) about: About,
    pub(crate) begun: Line,
    pub(crate) effect: Option<Line>,
    pub(crate) done: Option<Line>,
}

/// What happened to a process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Life {
    pub(crate) stopped: Vec<Line>,
    pub(crate) continued: Vec<Line>,
    pub(crate) killed: Option<Line>,
}

impl Life {
    /// Whether it was stopped at this line and went on before the other one.
    pub(crate) fn slept_over(&self, at: Line, until: Line) -> bool {
        let stopped = self.stopped.iter().filter(|line| **line < at).max();
        let woke = self.continued.iter().filter(|line| **line > at && **line < until).min();
        let awake_before = self.continued.iter().filter(|line| **line < at).max();
        stopped.is_some() && woke.is_some() && awake_before < stopped
    }
}

/// A person read the ledger.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) at: Line,
    pub(crate) attempt: u32,
    pub(crate) effect: Option<String>,
}

/// Everything that the ledger says.
#[derive(Debug, Default)]
pub(crate) struct Records {
    lines: Line,
    executions: BTreeMap<String, Execution>,
    by_place: BTreeMap<Place, Vec<String>>,
    lives: HashMap<String, Life>,
    looks: HashMap<Place, Vec<Look>>,
}

/// What somebody who reads along reacts to.
#[derive(Clone, Debug)]
pub(crate) enum News {
    Up(String),
    Begun(About),
    Dozing(About),
    Parked(String, Point),
}

impl Records {
    pub(crate) fn take(&mut self, fact: Fact) -> Option<News> {
        self.lines += 1;
        let at = self.lines;
        match fact {
            Fact::Up { process } => {
                self.lives.entry(process.clone()).or_default();
                return Some(News::Up(process));
            }
            Fact::About(about) => {
                self.by_place.entry(about.place.clone()).or_default().push(about.execution.clone());
                let execution = Execution { about: about.clone(), begun: at, effect: None, done: None };
                self.executions.insert(about.execution.clone(), execution);
                return Some(News::Begun(about));
            }
            Fact::Effect { execution } => self.change(&execution, |found| found.effect = Some(at)),
            Fact::Done { execution } => self.change(&execution, |found| found.done = Some(at)),
            Fact::Dozing { execution } => {
                return self.executions.get(&execution).map(|found| News::Dozing(found.about.clone()));
            }
            Fact::Parked { process, point } => return Some(News::Parked(process, point)),
            Fact::Killed { process } => self.lives.entry(process).or_default().killed = Some(at),
            Fact::Stopped { process } => self.lives.entry(process).or_default().stopped.push(at),
            Fact::Continued { process } => self.lives.entry(process).or_default().continued.push(at),
            Fact::Looked { place, attempt, effect } => {
                self.looks.entry(place).or_default().push(Look { at, attempt, effect });
            }
        }
        None
    }

    fn change(&mut self, execution: &str, change: impl FnOnce(&mut Execution)) {
        if let Some(found) = self.executions.get_mut(execution) {
            change(found);
        }
    }

    pub(crate) fn execution(&self, name: &str) -> Option<&Execution> {
        self.executions.get(name)
    }

    pub(crate) fn executions(&self) -> impl Iterator<Item = &Execution> {
        self.executions.values()
    }

    /// The executions of a call, in the order in which they began.
    pub(crate) fn of(&self, place: &Place) -> Vec<&Execution> {
        let names = self.by_place.get(place).map(Vec::as_slice).unwrap_or_default();
        names.iter().filter_map(|name| self.executions.get(name)).collect()
    }

    /// The executions that began after a person had looked and was told that their attempt did not happen.
    pub(crate) fn begun_after_a_look(&self, place: &Place) -> Vec<&Execution> {
        let looks = self.looks(place);
        let is_late = |execution: &&Execution| {
            looks.iter().any(|look| look.attempt == execution.about.attempt && look.at < execution.begun)
        };
        self.of(place).into_iter().filter(is_late).collect()
    }

    pub(crate) fn looks(&self, place: &Place) -> &[Look] {
        self.looks.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    pub(crate) fn life(&self, process: &str) -> Option<&Life> {
        self.lives.get(process)
    }
}
