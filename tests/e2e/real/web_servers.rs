//! Web servers whose handlers take a lock, with all clients in one process.

use super::adapters::{exec, project};
use super::starvation::judged;
use crate::running::{MAX_LONG_RUNS, picklock};

#[test]
fn lock_of_a_handler_is_judged_in_a_crowd_and_with_failures() {
    let python = std::env::var("PICKLOCK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    for (program, server, scenario) in [
        (&*python, "web_server.py", "crowd"),
        (&*python, "web_server.py", "failing-section"),
        ("node", "web_server.mjs", "crowd"),
        ("node", "web_server.mjs", "failing-section"),
    ] {
        let path = project("adapters/examples").join(server);
        let lock = exec(program, &path, "");
        let line = format!("scenario {scenario} --impl {lock} --backend process --json --out run");
        let outcome = picklock(&line).run_until(MAX_LONG_RUNS, |_| false);
        for property in [
            "exclusion",
            "lease",
            "resource",
            "ownership",
            "progress",
            "claims",
        ] {
            let (came_out, story) = judged(&outcome, property);
            assert_eq!(
                came_out,
                "held",
                "{server}, {scenario}, {property}: {story}\n{}",
                outcome.all()
            );
        }
    }
}
