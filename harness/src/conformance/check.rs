//! One check: what it is about, and the function that makes it.

use futures_util::future::LocalBoxFuture;

use super::clients::Clients;
use super::finding::{CheckResult, CheckStatus, Mistake};
use super::outcome::{CheckEnd, ConformanceError, Stop};

/// One check.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it says of an adapter that passes.
    pub about: &'static str,
    /// The paragraph of `docs/protocol.md` that it is about.
    pub paragraph: &'static str,
    /// Asks the two clients, and judges their answers.
    pub(super) make: fn(&mut Clients) -> LocalBoxFuture<'_, CheckEnd>,
}

impl Check {
    /// Makes it, and says by which mistake it failed. An adapter that broke the protocol is killed. An error: the
    /// check could not be made.
    pub(super) async fn run(
        &self,
        clients: &mut Clients,
    ) -> Result<(CheckResult, Mistake), ConformanceError> {
        clients.begin(self.name);
        let outcome = (self.make)(clients).await;
        // Whatever happened, the next check finds a server that answers.
        clients.thaw_server().await?;
        let outcome = match outcome {
            Ok(_) | Err(Stop::Problem(_)) => clients.events().await.map(|_| ()).and(outcome),
            other => other,
        };
        let (problem, log) = match outcome {
            Ok((status, detail)) => return Ok((self.result(status, detail), Mistake::OfCheck)),
            Err(Stop::Problem(problem)) => (problem, Vec::new()),
            Err(Stop::RequestAborted(who, problem)) => (problem, clients.dismiss(who).await),
            Err(Stop::Failed(error)) => return Err(error),
        };
        let result = CheckResult {
            line: problem.line,
            log,
            doc: doc(problem.paragraph.unwrap_or(self.paragraph)),
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
            doc: doc(self.paragraph),
        }
    }
}

fn doc(paragraph: &str) -> String {
    format!("picklock docs protocol#{paragraph}")
}
