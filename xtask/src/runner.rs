//! Runs steps in order up to the first failure and sums up what happened.

use std::path::Path;
use std::time::{Duration, Instant};

/// One thing that must pass.
#[derive(Debug)]
pub struct Step {
    /// Sub-command that runs this step alone.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Runs in the workspace's folder; an error says what failed.
    pub run: fn(&Path) -> Result<Outcome, String>,
}

/// Names are unique, and comparing function pointers would mean nothing.
impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// How a step ended well.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Everything in it ran and passed.
    Passed,
    /// What ran passed; this was left out.
    Partly(&'static str),
    /// There was nothing to run, for this reason.
    Skipped(&'static str),
}

/// What one step did.
#[derive(Debug)]
pub struct Record {
    name: &'static str,
    /// `None`: an earlier step failed first.
    result: Option<Result<Outcome, String>>,
    time: Duration,
}

/// Runs `steps` in order; those after a failure are recorded as not run.
pub fn run(steps: &[&Step], root: &Path) -> Vec<Record> {
    let mut failed = false;
    let mut records = Vec::with_capacity(steps.len());
    for step in steps {
        if failed {
            records.push(Record { name: step.name, result: None, time: Duration::ZERO });
            continue;
        }
        eprintln!("\n== {}: {}", step.name, step.about);
        let start = Instant::now();
        let result = (step.run)(root);
        match &result {
            Ok(Outcome::Passed) => {}
            Ok(Outcome::Partly(what)) => eprintln!("== {}: {what}", step.name),
            Ok(Outcome::Skipped(why)) => eprintln!("== {}: skipped, {why}", step.name),
            Err(why) => eprintln!("\nxtask: step `{}` failed: {why}", step.name),
        }
        failed = result.is_err();
        records.push(Record { name: step.name, result: Some(result), time: start.elapsed() });
    }
    records
}

/// Whether no step failed.
pub fn all_good(records: &[Record]) -> bool {
    records.iter().all(|record| matches!(record.result, Some(Ok(_))))
}

/// The closing table: step, result, seconds.
pub fn summary(records: &[Record]) -> String {
    let mut text = format!("{:<10} {:>8}  result", "step", "seconds");
    for record in records {
        let result = match &record.result {
            Some(Ok(Outcome::Passed)) => "passed".to_string(),
            Some(Ok(Outcome::Partly(what))) => format!("passed, but {what}"),
            Some(Ok(Outcome::Skipped(why))) => format!("skipped: {why}"),
            Some(Err(why)) => format!("FAILED: {why}"),
            None => "not run".to_string(),
        };
        text += &format!("\n{:<10} {:>8.1}  {result}", record.name, record.time.as_secs_f64());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Step = Step { name: "good", about: "passes", run: |_| Ok(Outcome::Passed) };
    const IDLE: Step = Step {
        name: "idle",
        about: "has nothing to do",
        run: |_| Ok(Outcome::Skipped("no such thing")),
    };
    const BAD: Step = Step { name: "bad", about: "fails", run: |_| Err("exit code 3".into()) };
    const NEVER: Step = Step {
        name: "never",
        about: "comes after a failure",
        run: |_| panic!("ran after a failure"),
    };

    #[test]
    fn stops_at_the_first_failure_and_names_it() {
        let records = run(&[&GOOD, &BAD, &NEVER], Path::new("."));
        assert!(!all_good(&records));
        let table = summary(&records);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].starts_with("good") && lines[1].ends_with("passed"), "{table}");
        assert!(
            lines[2].starts_with("bad") && lines[2].ends_with("FAILED: exit code 3"),
            "{table}"
        );
        assert!(lines[3].starts_with("never") && lines[3].ends_with("not run"), "{table}");
    }

    #[test]
    fn a_step_that_ran_in_part_is_no_failure_and_says_what_is_missing() {
        const PART: Step = Step {
            name: "part",
            about: "runs a half",
            run: |_| Ok(Outcome::Partly("the other half was not run")),
        };
        let records = run(&[&PART, &GOOD], Path::new("."));
        assert!(all_good(&records));
        assert!(summary(&records).contains("passed, but the other half was not run"));
    }

    #[test]
    fn a_skipped_step_is_no_failure_and_says_why() {
        let records = run(&[&IDLE, &GOOD], Path::new("."));
        assert!(all_good(&records));
        assert!(summary(&records).contains("skipped: no such thing"));
    }
}
