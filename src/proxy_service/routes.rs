//! The control API: requests and their answers, independent of the syntax of HTTP.

use std::sync::Arc;

use picklock_harness::proxy::Proxy;
use serde_json::{Value, json};

use super::rules::{Rejected, Rule, Rules};

/// Description of the API.
const OPENAPI: &str = include_str!("openapi.json");

/// Maximum number of commands in an answer.
const MAX_COMMANDS: usize = 10_000;

/// The state behind the API.
#[derive(Clone)]
pub struct Service {
    /// The proxy whose log is read.
    pub proxy: Proxy,
    /// The faults.
    pub rules: Arc<Rules>,
}

/// A status code of HTTP with the body of the answer.
pub type Answer = (u16, Value);

impl Service {
    /// Answers a request.
    pub fn answer(&self, method: &str, path: &str, query: &str, body: &[u8]) -> Answer {
        let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match (method, segments.as_slice()) {
            ("GET", ["faults"]) => (200, json!({ "faults": self.rules.all() })),
            ("POST", ["faults"]) => self.add(body),
            ("DELETE", ["faults"]) => (200, json!({ "removed": self.rules.remove(None) })),
            ("DELETE", ["faults", id]) => self.remove(id),
            ("GET", ["commands"]) => self.commands(query),
            ("GET", ["openapi.json"]) => openapi(),
            (_, ["faults"] | ["faults", _] | ["commands"] | ["openapi.json"]) => {
                problem(405, &format!("{method} is not supported here"))
            }
            _ => problem(404, &format!("{path}: no such resource; see /openapi.json")),
        }
    }

    fn add(&self, body: &[u8]) -> Answer {
        let rule: Rule = match serde_json::from_slice(body) {
            Ok(rule) => rule,
            Err(error) => return problem(400, &format!("the fault is not valid: {error}")),
        };
        match self.rules.add(rule) {
            Ok(active) => (201, json!(active)),
            Err(Rejected::Wrong(reason)) => problem(400, reason),
            Err(Rejected::TooMany) => problem(409, "too many faults: remove some of them first"),
        }
    }

    fn remove(&self, id: &str) -> Answer {
        let removed = id.parse().map_or(0, |id| self.rules.remove(Some(id)));
        if removed == 0 {
            return problem(404, &format!("no fault has the number {id}"));
        }
        (200, json!({ "removed": removed }))
    }

    fn commands(&self, query: &str) -> Answer {
        let after = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("after_ns="));
        let Ok(after) = after.unwrap_or("0").parse::<u64>() else {
            return problem(400, "after_ns: expected a non-negative integer");
        };
        let log = self.proxy.log();
        let mut entries = log.entries();
        entries.retain(|entry| entry.at_ns > after);
        entries.truncate(MAX_COMMANDS);
        (
            200,
            json!({ "omitted": log.omitted(), "commands": entries }),
        )
    }
}

fn openapi() -> Answer {
    serde_json::from_str(OPENAPI).map_or_else(
        |error| problem(500, &error.to_string()),
        |description| (200, description),
    )
}

/// Creates the answer to a request that fails.
pub fn problem(status: u16, message: &str) -> Answer {
    (status, json!({ "error": message }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use picklock_harness::clock::Clock;

    fn service() -> Service {
        let rules = Arc::new(Rules::default());
        let proxy = Proxy::new(Clock::start(), Vec::new(), 1, Arc::clone(&rules) as _);
        Service { proxy, rules }
    }

    #[test]
    fn fault_is_added_listed_and_removed() {
        let service = service();
        let (status, added) = service.answer(
            "POST",
            "/faults",
            "",
            br#"{"on": "reply", "effect": "drop"}"#,
        );
        assert_eq!((status, &added["id"]), (201, &json!(1)));
        let (_, listed) = service.answer("GET", "/faults", "", b"");
        assert_eq!(listed["faults"][0]["effect"], "drop");
        assert_eq!(service.answer("DELETE", "/faults/1", "", b"").0, 200);
        assert_eq!(service.answer("DELETE", "/faults/1", "", b"").0, 404);
    }

    #[test]
    fn wrong_requests_are_explained() {
        let service = service();
        for (method, path, body, status) in [
            ("POST", "/faults", "not JSON", 400),
            (
                "POST",
                "/faults",
                r#"{"on": "reply", "effect": "explode"}"#,
                400,
            ),
            ("GET", "/commands", "", 400),
            ("GET", "/nothing", "", 404),
            ("PUT", "/faults", "", 405),
        ] {
            let (got, answer) = service.answer(method, path, "after_ns=x", body.as_bytes());
            assert_eq!(got, status, "{method} {path}");
            assert!(answer["error"].is_string());
        }
    }

    #[test]
    fn every_path_of_the_description_is_served() {
        let (status, description) = service().answer("GET", "/openapi.json", "", b"");
        assert_eq!(status, 200);
        for (path, methods) in description["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let path = path.replace("{id}", "1");
                let (status, _) = service().answer(&method.to_uppercase(), &path, "", b"{}");
                assert_ne!(status, 405, "{method} {path}");
            }
        }
    }
}
