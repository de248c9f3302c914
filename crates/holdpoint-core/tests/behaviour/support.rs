//! One `check(script, expected)` for everything: a script says what happens to a run, line by line, and the transcript
//! says what the driver was told to do.
//!
//! Lines of a script:
//!
//! | line | what happens |
//! |---|---|
//! | `given siblings run` | a setting, before anything else; see `Stage::given` |
//! | `model asks: a, b(confirm)` | a reply with calls; words in brackets say what policy and the registry think of each |
//! | `model says hello`, `model says nothing`, `model stops max_tokens: hello` | a reply without calls |
//! | `model replies nothing at all`, `model fails`, `tokens 90` | what else can come of a model call |
//! | `a begins`, `a -> ok`, `a -> error: boom`, `a -> halt: bye`, `a@1 -> late` | a tool starts, ends (starting first if it must) |
//! | `a cached -> ok`, `a defers`, `a hook fails` | what else can come of a call that was handed to the executor |
//! | `ana allows b; denies c because no` | a person answers; also `allows b (confirm quorum=2)` with what policy says by now, `edits b to 2 (confirm)`, `answers b with X`, `knows b gave X` |
//! | `ana[finance] allows b` | with roles; an answer names the question that is open |
//! | `ana allows b seen 1`, `seen q1`, `seen nothing` | it names the open question with other arguments, the first question about the call, or none |
//! | `ana allows b remembering any in=session until=90` | and says it for calls that are yet to come |
//! | `ana revokes r.g1`, `another run s` | takes such a word back; another run, in which such words count |
//! | `b changes to v2 (allow)` | the tool takes other arguments by now; also `unfit`; also `worker w1 finds b changed to v2` |
//! | `results: a=ok, b=error:boom` | somebody outside delivers |
//! | `partly`, `batch`, `batch=1`, `from=p1`, `run=other`, `user=8` | in front of a resume: what it names, what it brings |
//! | `worker w1 returns a=ok, b#2=ok` | a worker brings results, of an attempt; also `loses a`, `fails a`, `exhausts a`, `late a=ok`, `may not start a (deny)` |
//! | `at 100`, `timer` | the clock moves; a timer rings |
//! | `crash`, `cancel`, `retry`, `move` | `move` brings the paused run into another store |
//! | `? records`, `? messages`, `? events`, `? usage`, `? text`, `? context`, `? owed`, `? doubts`, `? earlier`, `? siblings of b`, `? approvals`, `? reasons` | shows something |
//!
//! After every line the log is replayed and compared with the live state, and the tally is counted anew.

mod act;
mod parse;
mod show;
mod stage;
mod workers;

pub(crate) use act::settlement;
pub(crate) use parse::{Plan, actor, arguments, decision, new_run, plans, remember};
pub(crate) use show::fingerprint;
pub(crate) use stage::Stage;

/// Plays a script and compares the transcript.
#[track_caller]
pub(crate) fn check(script: &str, expected: &str) {
    let mut stage = Stage::new();
    for line in lines(script) {
        stage.play(line);
    }
    let expected: Vec<&str> = lines(expected).collect();
    let seen = stage.transcript();
    assert!(seen == expected, "\nexpected:\n  {}\nseen:\n  {}\n", expected.join("\n  "), seen.join("\n  "));
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}
