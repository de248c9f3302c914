//! The rules about answers, written down a second time and as plainly as they can be.

use holdpoint_core::{Code, Decision, Missing, Outcome, Terms, Timestamp};

use super::moves::{EDITED, Move, Policy, SHOWN, Said, Say, Shown, To, person};
use crate::support::Plan;

/// Who started the run.
const REQUESTER: &str = "zoe";

/// What the rules make of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Rejected(Code),
    /// It is accepted, and it was said before.
    Nothing,
    Changes,
}

/// Where a call is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Policy decided by itself.
    Unasked,
    Open {
        terms: Terms,
        deadline: Option<Timestamp>,
        text: &'static str,
        by: Vec<&'static str>,
        /// Counts the questions about the call.
        number: u32,
    },
    /// Enough people said yes to this text.
    Approved {
        text: &'static str,
        by: Vec<&'static str>,
        /// The question that was answered last.
        answered: u32,
    },
    Settled {
        outcome: Outcome,
        said: Option<Say>,
        answered: u32,
    },
}

/// A run as the rules see it.
#[derive(Clone)]
pub(super) struct Book {
    ids: Vec<String>,
    standings: Vec<Standing>,
    /// The terms of the last question about each call.
    terms: Vec<Option<Terms>>,
    pauses: u32,
    cancelled: bool,
}

impl Book {
    pub(super) fn open(plans: &[Plan]) -> Self {
        let asked = plans.iter().map(|plan| match &plan.decision {
            Decision::Confirm(_, terms) => Some(terms.clone()),
            Decision::Allow(_) | Decision::Deny(_) => None,
        });
        let terms: Vec<Option<Terms>> = asked.collect();
        let standing = |terms: &Option<Terms>| match terms {
            Some(terms) => question(terms, Timestamp(0), SHOWN, 1),
            None => Standing::Unasked,
        };
        Self {
            ids: plans.iter().map(|plan| plan.call.name.as_str().to_owned()).collect(),
            standings: terms.iter().map(standing).collect(),
            terms,
            pauses: 1,
            cancelled: false,
        }
    }

    pub(super) fn standings(&self) -> &[Standing] {
        &self.standings
    }

    fn waits(&self) -> bool {
        !self.cancelled && self.standings.iter().any(|standing| matches!(standing, Standing::Open { .. }))
    }

    /// The pause that is open.
    pub(super) fn pause(&self) -> Option<u32> {
        self.waits().then_some(self.pauses)
    }

    pub(super) fn hear(&mut self, next: &Move, now: Timestamp) -> Verdict {
        let heard = match next {
            Move::Timer => Ok(self.elapse(now)),
            Move::Cancel => Ok(self.cancel()),
            Move::Result if self.cancelled => Err(Code::RunCancelled),
            Move::Result if self.pause() == Some(1) => Err(Code::WrongPause),
            Move::Result => Err(Code::StaleContinuation),
            Move::Answer(said) => self.answer(said, now),
        };
        match heard {
            Err(code) => Verdict::Rejected(code),
            Ok(false) => Verdict::Nothing,
            Ok(true) => {
                self.pauses += u32::from(self.waits());
                Verdict::Changes
            }
        }
    }

    fn overdue(&self, now: Timestamp) -> Vec<usize> {
        let open = self.standings.iter().enumerate();
        let late = open.filter(|(_, standing)| match standing {
            Standing::Open { deadline, .. } => deadline.is_some_and(|deadline| now >= deadline),
            Standing::Unasked | Standing::Approved { .. } | Standing::Settled { .. } => false,
        });
        late.map(|(place, _)| place).collect()
    }

    fn expire(&mut self, overdue: &[usize]) {
        for place in overdue {
            self.standings[*place] = Standing::Settled { outcome: Outcome::Expired, said: None, answered: 0 };
        }
    }

    fn elapse(&mut self, now: Timestamp) -> bool {
        let overdue = if self.waits() { self.overdue(now) } else { Vec::new() };
        self.expire(&overdue);
        !overdue.is_empty()
    }

    fn cancel(&mut self) -> bool {
        if self.cancelled {
            return false;
        }
        self.cancelled = true;
        for standing in &mut self.standings {
            if matches!(standing, Standing::Open { .. } | Standing::Approved { .. }) {
                *standing = Standing::Settled { outcome: Outcome::Cancelled, said: None, answered: 0 };
            }
        }
        true
    }

    /// Whether there is something to answer to under what was named.
    fn expect_target(&self, to: To) -> Result<(), Code> {
        let number = match to {
            To::Foreign => return Err(Code::ContinuationNotFound),
            _ if self.cancelled => return Err(Code::RunCancelled),
            To::LaterBatch => return Err(Code::ContinuationNotFound),
            To::Batch => return if self.waits() { Ok(()) } else { Err(Code::StaleContinuation) },
            To::Current => self.pause().unwrap_or(1),
            To::First => 1,
            To::Pause(number) => number,
        };
        match self.pause() {
            _ if number == 0 || number > self.pauses => Err(Code::ContinuationNotFound),
            Some(open) if open == number => Ok(()),
            Some(_) | None => Err(Code::StaleContinuation),
        }
    }

    fn answer(&mut self, said: &Said, now: Timestamp) -> Result<bool, Code> {
        self.expect_target(said.to)?;
        let overdue = self.overdue(now);
        let mut mentioned = overdue.clone();
        let mut fresh: Vec<(usize, Say)> = Vec::new();
        for (id, say, shown) in &said.answers {
            let place = self.ids.iter().position(|known| **known == **id).ok_or(Code::UnknownToolCall)?;
            if overdue.contains(&place) {
                continue;
            }
            mentioned.push(place);
            if let Some((_, before)) = fresh.iter().find(|(other, _)| *other == place) {
                if before == say {
                    continue;
                }
                return Err(Code::ConflictingDecision);
            }
            if self.judge(place, said.who, *say, *shown)? {
                fresh.push((place, *say));
            }
        }
        let open = |place: &usize| matches!(self.standings[*place], Standing::Open { .. });
        let all_mentioned = (0..self.ids.len()).filter(open).all(|place| mentioned.contains(&place));
        if said.missing == Missing::Reject && !all_mentioned {
            return Err(Code::MissingDecision);
        }
        if fresh.is_empty() && overdue.is_empty() {
            return Ok(false);
        }
        self.expire(&overdue);
        for (place, say) in fresh {
            self.take(place, name_of(said.who), say, now);
        }
        Ok(true)
    }

    fn may_answer(&self, place: usize, who: &'static str) -> bool {
        let Some(terms) = &self.terms[place] else { return false };
        let roles = person(who).roles;
        let has_role = terms.approvers.is_empty() || terms.approvers.iter().any(|role| roles.contains(role));
        has_role && !(terms.four_eyes == holdpoint_core::FourEyes::On && name_of(who) == REQUESTER)
    }

    /// Whether it is new.
    fn judge(&self, place: usize, who: &'static str, say: Say, shown: Shown) -> Result<bool, Code> {
        match &self.standings[place] {
            Standing::Unasked => Err(Code::UnknownToolCall),
            Standing::Open { terms, text, by, number, .. } => {
                if say == Say::Happened || (say == Say::Supply && terms.quorum > 1) {
                    return Err(Code::InvalidDecision);
                }
                if !self.may_answer(place, who) {
                    return Err(Code::NotAnApprover);
                }
                let approved = by.contains(&name_of(who));
                if approved && matches!(say, Say::Edit(_)) && *text == EDITED {
                    return Ok(false);
                }
                let named = match shown {
                    Shown::Untold => say == Say::Refuse,
                    Shown::Current => true,
                    Shown::First => *number == 1,
                    Shown::Wrong => false,
                };
                if !named {
                    return Err(Code::DigestMismatch);
                }
                match say {
                    Say::Approve | Say::ApproveAlways => Ok(!approved),
                    Say::Refuse | Say::Supply if approved => Err(Code::ConflictingDecision),
                    Say::Refuse | Say::Supply | Say::Edit(_) | Say::Happened => Ok(true),
                }
            }
            kept if !self.may_answer(place, who) => {
                debug_assert!(!matches!(kept, Standing::Unasked));
                Err(Code::NotAnApprover)
            }
            Standing::Settled { outcome: Outcome::Expired | Outcome::Cancelled, .. } => Err(Code::UnknownToolCall),
            Standing::Settled { said, answered, .. } => match (say, said) {
                (Say::Refuse, Some(Say::Refuse)) | (Say::Supply, Some(Say::Supply)) => known(shown, *answered),
                (Say::Edit(_), Some(Say::Edit(_))) => known(shown, *answered),
                _ => Err(Code::ConflictingDecision),
            },
            Standing::Approved { text, answered, .. } => match say {
                Say::Approve | Say::ApproveAlways => known(shown, *answered),
                Say::Edit(_) if *text == EDITED => known(shown, *answered),
                Say::Edit(_) | Say::Refuse | Say::Supply | Say::Happened => Err(Code::ConflictingDecision),
            },
        }
    }

    /// What an answer that is new does.
    fn take(&mut self, place: usize, who: &'static str, say: Say, now: Timestamp) {
        let Standing::Open { terms, text, by, number, .. } = &mut self.standings[place] else { return };
        let answered = *number;
        match say {
            Say::Refuse => {
                self.standings[place] = Standing::Settled { outcome: Outcome::Refused, said: Some(say), answered };
                return;
            }
            Say::Supply | Say::Happened => {
                self.standings[place] = Standing::Settled { outcome: Outcome::Succeeded, said: Some(say), answered };
                return;
            }
            Say::Approve | Say::ApproveAlways => {}
            Say::Edit(policy) => {
                if *text != EDITED {
                    by.clear();
                    *number += 1;
                }
                *text = EDITED;
                match policy {
                    Policy::Denies => {
                        self.standings[place] =
                            Standing::Settled { outcome: Outcome::Denied, said: Some(say), answered };
                        return;
                    }
                    Policy::AsksOthers => {
                        let terms = Terms { approvers: ["board".into()].into(), ..Terms::default() };
                        let number = *number + 1;
                        self.standings[place] = question(&terms, now, EDITED, number);
                        self.terms[place] = Some(terms);
                        return;
                    }
                    Policy::Allows => terms.quorum = 0,
                    Policy::AsksTheSame => {}
                }
            }
        }
        by.push(who);
        if by.len() >= terms.quorum as usize {
            let (text, by) = (*text, std::mem::take(by));
            self.standings[place] = Standing::Approved { text, by, answered };
        }
    }
}

/// An answer that is equal to one before changes nothing, and still must not name another question.
fn known(shown: Shown, answered: u32) -> Result<bool, Code> {
    match shown {
        Shown::Untold | Shown::Current => Ok(false),
        Shown::First if answered == 1 => Ok(false),
        Shown::First | Shown::Wrong => Err(Code::DigestMismatch),
    }
}

fn question(terms: &Terms, now: Timestamp, text: &'static str, number: u32) -> Standing {
    let deadline = terms.expires_in_ms.map(|ms| now.plus_ms(ms));
    Standing::Open { terms: terms.clone(), deadline, text, by: Vec::new(), number }
}

/// `ana` of `ana[finance]`.
fn name_of(who: &'static str) -> &'static str {
    who.split('[').next().unwrap_or(who)
}
