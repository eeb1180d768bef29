//! The CI job in which Picklock runs, from its environment.

use picklock_harness::clock;
use picklock_harness::record::CiJob;

/// Returns the CI job, or `None` outside of CI. Only a record of a CI job has a date, so that the output of a
/// simulation is otherwise reproducible byte for byte.
pub fn from_environment() -> Option<CiJob> {
    let variable = |name: &str| std::env::var(name).ok();
    let (year, month, day) = today();
    from_variables(variable, format!("{year:04}-{month:02}-{day:02}"))
}

/// Reads the variables of GitHub Actions and of GitLab CI.
fn from_variables(variable: impl Fn(&str) -> Option<String>, date: String) -> Option<CiJob> {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty());
    let github_run = || {
        let [server, repository, run] =
            ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"].map(given);
        Some(format!("{}/{}/actions/runs/{}", server?, repository?, run?))
    };
    let commit = given("GITHUB_SHA").or_else(|| given("CI_COMMIT_SHA"));
    let url = github_run().or_else(|| given("CI_JOB_URL"));
    (commit.is_some() || url.is_some()).then_some(CiJob { date, commit, url })
}

/// Returns today's date (UTC) as year, month and day.
pub fn today() -> (u16, u8, u8) {
    let days = clock::wall_clock().as_secs() / 86_400;
    // Counts from 1 March of the year 0, so that the leap day is the last day of a year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year as u16, month as u8, day as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Option<CiJob> {
        let variable = |name: &str| {
            let mut known = variables.iter();
            let (_, value) = known.find(|(known, _)| *known == name)?;
            Some((*value).to_owned())
        };
        from_variables(variable, "2026-11-30".to_owned())
    }

    fn shown(job: &CiJob) -> (Option<&str>, Option<&str>) {
        (job.commit.as_deref(), job.url.as_deref())
    }

    #[test]
    fn github_and_gitlab_state_commit_and_page() {
        let github = job(&[
            ("GITHUB_SHA", "1a2b3c"),
            ("GITHUB_SERVER_URL", "https://github.com"),
            ("GITHUB_REPOSITORY", "me/shop"),
            ("GITHUB_RUN_ID", "7"),
        ]);
        let page = "https://github.com/me/shop/actions/runs/7";
        assert_eq!(shown(&github.unwrap()), (Some("1a2b3c"), Some(page)));
        let page = "https://gitlab.example/me/shop/-/jobs/8";
        let gitlab = job(&[("CI_COMMIT_SHA", "4d5e6f"), ("CI_JOB_URL", page)]);
        assert_eq!(shown(&gitlab.unwrap()), (Some("4d5e6f"), Some(page)));
        let part = job(&[("GITHUB_SHA", "1a2b3c"), ("GITHUB_RUN_ID", "7")]);
        assert_eq!(shown(&part.unwrap()), (Some("1a2b3c"), None));
    }

    #[test]
    fn no_job_is_recorded_outside_of_ci() {
        assert_eq!(job(&[]), None);
        assert_eq!(job(&[("GITHUB_SHA", ""), ("CI_JOB_URL", "")]), None);
    }
}
