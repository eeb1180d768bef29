//! One check: its description, and the function that performs it.

use futures_util::future::LocalBoxFuture;

use super::clients::Clients;
use super::finding::{CheckResult, CheckStatus, Mistake};
use super::outcome::{CheckEnd, ConformanceError, Stop};

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Name of the check.
    pub name: &'static str,
    /// The behaviour of an adapter that passes.
    pub about: &'static str,
    /// The section of `docs/protocol.md` whose rules are checked.
    pub section: &'static str,
    /// Sends requests to the two clients, and judges their replies.
    pub(super) perform: fn(&mut Clients) -> LocalBoxFuture<'_, CheckEnd>,
}

impl Check {
    /// Runs the check, and returns the mistake if it failed. An adapter that broke the protocol is killed.
    ///
    /// # Errors
    /// Returns an error if the check could not be performed.
    pub(super) async fn run(
        &self,
        clients: &mut Clients,
    ) -> Result<(CheckResult, Mistake), ConformanceError> {
        clients.begin(self.name);
        let outcome = (self.perform)(clients).await;
        // Whatever the outcome is, the next check must find a server that answers.
        clients.thaw_server().await?;
        let final_outcome = match outcome {
            Ok(_) | Err(Stop::Problem(_)) => clients.events().await.map(|_| ()).and(outcome),
            other => other,
        };
        let (problem, log) = match final_outcome {
            Ok((status, detail)) => return Ok((self.result(status, detail), Mistake::Unshared)),
            Err(Stop::Problem(problem)) => (problem, Vec::new()),
            Err(Stop::RequestAborted(who, problem)) => (problem, clients.kill(who).await),
            Err(Stop::Failed(error)) => return Err(error),
        };
        let result = CheckResult {
            line: problem.line,
            log,
            doc: doc(problem.section.unwrap_or(self.section)),
            ..self.result(CheckStatus::Failed, problem.what)
        };
        Ok((result, problem.mistake))
    }

    pub(super) fn not_run(&self, why: &str) -> CheckResult {
        self.result(CheckStatus::NotRun, format!("not tried: {why}"))
    }

    fn result(&self, status: CheckStatus, detail: String) -> CheckResult {
        CheckResult {
            check: self.name,
            about: self.about,
            status,
            detail,
            line: None,
            log: Vec::new(),
            doc: doc(self.section),
        }
    }
}

fn doc(section: &str) -> String {
    format!("picklock docs protocol#{section}")
}
