//! An agent that looks for a skill, loads it and reads one of its files.
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::fs;

use holdpoint::Agent;
use holdpoint::model::{ScriptedModel, ScriptedReply};
use holdpoint::policy::Rules;
use holdpoint_skills::Skills;

const SKILL: &str = "---
name: returns
description: How we take goods back. Use it when a customer wants to return something.
---
Ask for the order first. The deadlines are in `references/deadlines.md`.
";

const POLICY: &str = r#"
[[rule]]
tool = "skills_*"
decide = "allow"
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    fs::create_dir_all(folder.path().join("returns/references"))?;
    fs::write(folder.path().join("returns/SKILL.md"), SKILL)?;
    fs::write(folder.path().join("returns/references/deadlines.md"), "Kettles: 30 days.")?;

    let skills = Skills::open([folder.path()])?;
    for problem in skills.problems().iter() {
        println!("left out: {problem}");
    }
    let model = ScriptedModel::new(vec![
        ScriptedReply::call("1", "skills.list", "{}"),
        ScriptedReply::call("2", "skills.load", r#"{"name": "returns"}"#),
        ScriptedReply::call("3", "skills.read_file", r#"{"name": "returns", "path": "references/deadlines.md"}"#),
        ScriptedReply::call("4", "skills.read_file", r#"{"name": "returns", "path": "../../etc/passwd"}"#),
        ScriptedReply::text("You have 30 days."),
    ]);
    let agent =
        Agent::builder().model(model).tools(skills.tools()).policy(Rules::parse(POLICY, "policy.toml")?).build()?;

    let run = agent.chat("Can I give my kettle back?").await?;
    println!("{}", run.text().unwrap_or_default());
    // The last call asked for a file that is not the skill's.
    let failed: Vec<bool> = run.records().iter().map(|record| record.code.is_some()).collect();
    assert_eq!(failed, [false, false, false, true]);
    Ok(())
}
