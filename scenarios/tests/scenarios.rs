//! Tests of the vocabulary, its parser, its errors, and the catalog.

use picklock_scenarios::{
    BackendName, Expectation, LeaseDuration, OTHERS, Rate, Scenario, arbitrary, catalog, nearest,
};
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn catalog_scenarios_are_valid_and_named_like_their_file() {
    for (name, text) in catalog::CATALOG {
        let scenario = Scenario::parse(text, name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(&scenario.name, name);
        assert!(
            scenario.source.is_some(),
            "{name} must name the source of its claim"
        );
        assert!(
            scenario.expect.contains_key(OTHERS),
            "{name} must have expectations"
        );
        let expectations = scenario.expect.values().flat_map(|table| table.values());
        for one in expectations {
            assert!(
                *one != Expectation::Any { reason: None },
                "{name} must give the reason for `any`"
            );
        }
    }
}

#[test]
fn any_expectation_keeps_its_reason() {
    let read = |text: &str| Expectation::try_from(text.to_owned());
    let reason = Some("it is luck: the clock decides".to_owned());
    let any = Expectation::Any { reason };
    assert_eq!(read("any: it is luck: the clock decides"), Ok(any.clone()));
    assert_eq!(String::from(any), "any: it is luck: the clock decides");
    for text in ["any", "any:"] {
        assert_eq!(read(text), Ok(Expectation::Any { reason: None }));
    }
    assert!(read("held: always").is_err());
}

#[test]
fn durations_resolve_to_their_length() {
    let ttl = Duration::from_secs(2);
    let resolved = |text: &str| text.parse::<LeaseDuration>().unwrap().resolve(ttl);
    assert_eq!(resolved("250us"), Duration::from_micros(250));
    assert_eq!(resolved("500ms"), Duration::from_millis(500));
    assert_eq!(resolved(" 2 s "), Duration::from_secs(2));
    assert_eq!(resolved("1.5ttl"), Duration::from_secs(3));
    assert_eq!(resolved("1m"), Duration::from_secs(60));
    assert_eq!(resolved("1h"), Duration::from_secs(3600));
    for wrong in [
        "",
        "5",
        "s",
        "-1s",
        "1 fortnight",
        "1e400s",
        "NaNs",
        "infs",
        "9999h",
        "1..5s",
    ] {
        assert!(wrong.parse::<LeaseDuration>().is_err(), "{wrong:?} passed");
    }
}

#[test]
fn nearest_word_is_suggested_only_if_it_is_near() {
    let words = ["redlock", "getset", "set-nx-px", "setnx-expire"];
    assert_eq!(nearest("redlok", words), Some("redlock"));
    assert_eq!(nearest("REDLOCK", words), Some("redlock"));
    assert_eq!(nearest("setnx", words), Some("setnx-expire"));
    assert_eq!(nearest("zookeeper", words), None);
}

const HEAD: &str = "name = \"mine\"\nsummary = \"Mine.\"\n";

fn error(body: &str) -> String {
    Scenario::parse(&format!("{HEAD}{body}"), "mine.toml")
        .expect_err("this must not pass")
        .to_string()
}

#[test]
fn errors_name_line_column_and_the_nearest_word() {
    insta::assert_snapshot!(error("[workload]\nworkrs = 3\n"), @r"
    mine.toml:4:1: unknown field `workrs`, expected one of `kind`, `capacity`, `permits`, `writers`, `short_lease`, `reader_think`, `act_every`, `workers`, `processes`, `keys`, `names`, `locks_each`, `lock_order`, `stock`, `purchases`, `arrivals`, `duration`, `update`, `stock_in`, `sold_out`, `start`, `seeds`, `ttl`, `section`, `extend`, `wait`, `cancel`, `release_refused`, `failing_sections`, `reenter`, `ending_clients`, `again`, `think`, `command_timeout`, `limit`, `schedule`
       |
     4 | workrs = 3
       | ^
      = help: did you mean `workers`?
    ");
    insta::assert_snapshot!(error("[[fault]]\nkind = \"pause-clinet\"\nat = \"1s\"\n"), @r#"
    mine.toml:4:8: unknown variant `pause-clinet`, expected one of `pause-client`, `pause-task`, `crash-client`, `terminate-client`, `delay`, `drop`, `hold`, `answer`, `false-answer`, `cut`, `partition`, `pause-node`, `crash-node`, `cut-replication`, `failover`, `sentinel-failover`, `evict`, `flush-all`, `flush-scripts`, `exhaust`, `clock-jump`, `clock-skew`, `late-write`, `late-commit`, `unchecked-write`, `stale-read`
       |
     4 | kind = "pause-clinet"
       |        ^
      = help: did you mean `pause-client`?
    "#);
    insta::assert_snapshot!(error("[workload]\nttl = \"1 fortnight\"\n"), @r#"
    mine.toml:4:7: `1 fortnight` is not a duration; expected a number and a unit: "250us", "500ms", "2s", "1m", "1h", or relative to the lease: "1.5ttl"
       |
     4 | ttl = "1 fortnight"
       |       ^
    "#);
    insta::assert_snapshot!(error("[workload\n"), @"
    mine.toml:3:10: unclosed table, expected `]`
       |
     3 | [workload
       |          ^
    ");
}

#[test]
fn contradictory_fields_are_rejected_with_their_position() {
    insta::assert_snapshot!(error("[workload]\nworkers = 2\n[[fault]]\nkind = \"crash-client\"\nat = \"1s\"\nworkers = [5]\n"), @"
    mine.toml:8:11: there is no client 5: the workload has 2, numbered from 0
       |
     8 | workers = [5]
       |           ^
      = help: set `workload.workers` to 6 or more
    ");
    insta::assert_snapshot!(error("[[fault]]\nkind = \"pause-node\"\nat = \"1s\"\nfor = \"1s\"\n"), @r#"
    mine.toml:4:8: only a `request` or `reply` identifies a node
       |
     4 | kind = "pause-node"
       |        ^
      = help: add `nodes = [0]` or `nodes = "all"`
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"delay\"\nat = \"1s\"\n"), @r#"
    mine.toml:4:8: `delay` needs `by`
       |
     4 | kind = "delay"
       |        ^
      = help: add `by = "1.5ttl"`
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"cut\"\n"), @r#"
    mine.toml:4:8: this fault has no trigger
       |
     4 | kind = "cut"
       |        ^
      = help: give `at = "500ms"`, or an event such as `when = { on = "stock-read", stock = 1 }`
    "#);
    insta::assert_snapshot!(error("[expect.redlock]\nexclusoin = \"held\"\n"), @r#"
    mine.toml:4:13: `exclusoin` is not a known property; expected one of exclusion, lease, resource, ownership, fencing, progress, claims, once
       |
     4 | exclusoin = "held"
       |             ^
      = help: did you mean `exclusion`?
    "#);
}

#[test]
fn extension_interval_must_fit_into_the_section() {
    let extending = |extend: &str| {
        let text = format!("{HEAD}[workload]\nsection = \"0.5ttl\"\nextend = \"{extend}\"\n");
        Scenario::parse(&text, "mine.toml").map_err(|error| error.to_string())
    };
    assert!(extending("0.2ttl").is_ok());
    insta::assert_snapshot!(extending("0ms").unwrap_err(), @r#"
    mine.toml:5:10: holders would extend all the time, and never work
       |
     5 | extend = "0ms"
       |          ^
      = help: use for example `extend = "0.4ttl"`, or omit it
    "#);
    insta::assert_snapshot!(extending("0.5ttl").unwrap_err(), @r#"
    mine.toml:5:10: `extend` is not shorter than `section`: no holder would ever extend
       |
     5 | extend = "0.5ttl"
       |          ^
      = help: make `section` longer
    "#);
}

#[test]
fn open_loop_with_wrong_fields_is_rejected() {
    let open = |rest: &str| error(&format!("[workload]\narrivals = \"40/s\"\n{rest}"));
    insta::assert_snapshot!(error("[workload]\narrivals = \"40 an hour\"\n"), @r#"
    mine.toml:4:12: `40 an hour` is not a rate; expected a number more than 0 and `/s`, `/ms` or `/ttl`: "40/s", "0.5/ms", or relative to the lease: "4/ttl"
       |
     4 | arrivals = "40 an hour"
       |            ^
    "#);
    insta::assert_snapshot!(open(""), @r#"
    mine.toml:4:12: `arrivals` without `duration`: buyers would arrive for ever
       |
     4 | arrivals = "40/s"
       |            ^
      = help: add `duration = "10ttl"`
    "#);
    insta::assert_snapshot!(error("[workload]\nduration = \"10ttl\"\n"), @r#"
    mine.toml:4:12: `duration` without `arrivals`: a closed loop ends with the stock, with `purchases`, or at its `limit`
       |
     4 | duration = "10ttl"
       |            ^
      = help: add `arrivals = "4/ttl"`, or set `limit`
    "#);
    insta::assert_snapshot!(open("duration = \"0s\"\n"), @r#"
    mine.toml:5:12: zero: no buyer would arrive
       |
     5 | duration = "0s"
       |            ^
      = help: expected a duration such as "10ttl"
    "#);
    insta::assert_snapshot!(open("duration = \"10ttl\"\npurchases = 2\n"), @"
    mine.toml:6:13: `purchases` limits what one buyer buys, but here each arrival is one purchase by a new buyer
       |
     6 | purchases = 2
       |             ^
      = help: remove it: `arrivals` and `duration` determine the number of purchases
    ");
    insta::assert_snapshot!(open("duration = \"10ttl\"\nthink = \"5ms\"\n"), @r#"
    mine.toml:6:9: `think` paces a closed loop, but here `arrivals` does: a worker that pauses would only make the next buyer wait
       |
     6 | think = "5ms"
       |         ^
      = help: remove it, or make the work longer with `section`
    "#);
    insta::assert_snapshot!(open("duration = \"10ttl\"\nlimit = \"10s\"\n"), @r#"
    mine.toml:6:9: the run would end at its limit of 10s while buyers still arrive (duration 10ttl)
       |
     6 | limit = "10s"
       |         ^
      = help: set `limit` beyond `duration`, so that waiting buyers can be served
    "#);
    insta::assert_snapshot!(error("[workload]\narrivals = \"1000/ms\"\nduration = \"1h\"\nlimit = \"2h\"\n"), @r#"
    mine.toml:4:12: 3600000000 arrivals within 3600s: expected 1000000 at most
       |
     4 | arrivals = "1000/ms"
       |            ^
      = help: lower the rate, or shorten `duration`
    "#);
}

#[test]
fn open_loop_is_checked_again_when_the_lease_changes() {
    let text =
        "[workload]\narrivals = \"4/ttl\"\nduration = \"10ttl\"\nagain = \"20ms\"\nwait = \"0s\"\n";
    let scenario = Scenario::parse(&format!("{HEAD}{text}"), "mine.toml").unwrap();
    assert_eq!(scenario.workload.arrivals.unwrap().to_string(), "4/ttl");
    // A longer lease prolongs the durations that are relative to it, but not the limit.
    let mut longer =
        Scenario::parse(&format!("{HEAD}{text}limit = \"12s\"\n"), "mine.toml").unwrap();
    longer.workload.ttl = "2s".parse().unwrap();
    let error = longer.check_for(1).unwrap_err().to_string();
    assert!(
        error.contains("workload.limit: the run would end"),
        "{error}"
    );
}

#[test]
fn wrong_fields_of_data_faults_are_rejected() {
    insta::assert_snapshot!(error("[[fault]]\nkind = \"exhaust\"\nat = \"1s\"\nnodes = [0]\n"), @r#"
    mine.toml:4:8: `exhaust` needs `what`
       |
     4 | kind = "exhaust"
       |        ^
      = help: add `what = "memory"` or `what = "connections"`
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"exhaust\"\nat = \"1s\"\nnodes = [0]\nwhat = \"disk\"\n"), @r#"
    mine.toml:7:8: unknown variant `disk`, expected `memory` or `connections`
       |
     7 | what = "disk"
       |        ^
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"flush-all\"\nat = \"1s\"\nnodes = [0]\nfor = \"1s\"\n"), @r#"
    mine.toml:7:7: `flush-all` has no `for`
       |
     7 | for = "1s"
       |       ^
      = help: besides `at` or `when` and `optional`, it takes nodes
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"evict\"\nat = \"1s\"\nnodes = [0]\nkeys = [1]\n"), @r#"
    mine.toml:7:8: there is no key 1: the workload has 1, numbered from 0
       |
     7 | keys = [1]
       |        ^
      = help: set `workload.keys` to 2 or more
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"evict\"\nat = \"1s\"\nnodes = [0]\nkeys = []\n"), @r#"
    mine.toml:7:8: no keys: the fault would do nothing
       |
     7 | keys = []
       |        ^
      = help: name locks by number (`keys = [0]`), or omit `keys` for all of them
    "#);
    assert!(
        error("[[fault]]\nkind = \"flush-all\"\nat = \"1s\"\nnodes = []\n").contains("no targets")
    );
    insta::assert_snapshot!(error("[[fault]]\nkind = \"evict\"\nwhen = { on = \"granted\" }\n"), @r#"
    mine.toml:4:8: only a `request` or `reply` identifies a node
       |
     4 | kind = "evict"
       |        ^
      = help: add `nodes = [0]` or `nodes = "all"`
    "#);
}

#[test]
fn takes_requires_a_reply_during_an_acquisition() {
    let taking = |when: &str| {
        error(&format!(
            "[[fault]]\nkind = \"crash-client\"\nwhen = {{ {when}, takes = true }}\n"
        ))
    };
    insta::assert_snapshot!(taking("on = \"request\""), @r#"
    mine.toml:5:34: `takes` requires `on = "reply"`
       |
     5 | when = { on = "request", takes = true }
       |                                  ^
      = help: the effect of a command is known only after its reply
    "#);
    insta::assert_snapshot!(taking("on = \"reply\", during = \"release\""), @r#"
    mine.toml:5:33: `takes` implies `during = "acquire"`, but another phase is given
       |
     5 | when = { on = "reply", during = "release", takes = true }
       |                                 ^
    "#);
    let during = "[[fault]]\nkind = \"crash-client\"\nwhen = { on = \"reply\", during = \"acquire\", takes = true }\n";
    assert!(Scenario::parse(&format!("{HEAD}{during}"), "mine.toml").is_ok());
}

#[test]
fn impossible_clock_shifts_are_rejected_with_their_position() {
    insta::assert_snapshot!(error("[[fault]]\nkind = \"clock-jump\"\nat = \"1s\"\nnodes = [0]\n"), @r#"
    mine.toml:4:8: `clock-jump` needs `by`
       |
     4 | kind = "clock-jump"
       |        ^
      = help: add `by = "1.5ttl"`
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"clock-skew\"\nat = \"1s\"\nby = \"-1s\"\n"), @r#"
    mine.toml:4:8: a fault with `at` does not identify a worker
       |
     4 | kind = "clock-skew"
       |        ^
      = help: add `workers = [0]` or `workers = "all"`
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"clock-skew\"\nat = \"1s\"\nworkers = [0]\nby = \"-0s\"\n"), @r#"
    mine.toml:7:6: `by` is zero: the fault would do nothing
       |
     7 | by = "-0s"
       |      ^
    "#);
    insta::assert_snapshot!(error("[[fault]]\nkind = \"delay\"\nat = \"1s\"\nby = \"-1s\"\n"), @r#"
    mine.toml:6:6: `by` of a `delay` cannot be negative; only a clock can be set back
       |
     6 | by = "-1s"
       |      ^
    "#);
}

#[test]
fn sentinels_need_a_replica_and_a_supporting_backend() {
    let wrong = |topology: &str, rest: &str| {
        let backends = "backends = [\"process\"]\n";
        error(&format!("{backends}[topology]\n{topology}\n{rest}"))
    };
    let text = wrong("sentinels = 3", "");
    assert!(
        text.contains("mine.toml:5:13: the sentinels need a replica"),
        "{text}"
    );
    let text = wrong("sentinels = 2\nreplicas = 1", "");
    assert!(text.contains("2 sentinels: expected 3 to 7"), "{text}");
    let text = error("[topology]\nsentinels = 3\nreplicas = 1\n");
    assert!(text.contains("the simulation has no sentinels"), "{text}");
    assert!(text.contains("backends = ["), "{text}");
    let fault = |kind: &str| format!("[[fault]]\nkind = \"{kind}\"\nat = \"1s\"\nnodes = [0]\n");
    let text = wrong("replicas = 1", &fault("sentinel-failover"));
    assert!(text.contains("set `topology.sentinels = 3`"), "{text}");
    let text = wrong("sentinels = 3\nreplicas = 1", &fault("failover"));
    assert!(text.contains("use `sentinel-failover`"), "{text}");
    let text = error("backends = [\"proces\"]\n");
    assert!(text.contains("did you mean `process`?"), "{text}");
}

#[test]
fn scenario_runs_only_in_its_backends() {
    let scenario = catalog::named("sentinel-failover").unwrap();
    let runs = BackendName::ALL.map(|backend| scenario.runs_in(backend));
    assert_eq!(runs, [false, true, true, false]);
    assert!(catalog::named("calm").unwrap().runs_in(BackendName::Sim));
    let stale_master = catalog::named("stale-master").unwrap();
    let runs = BackendName::ALL.map(|backend| stale_master.runs_in(backend));
    assert_eq!(runs, [false, true, true, false]);
}

#[test]
fn nonexistent_node_is_rejected_by_check_for() {
    let fault = |rest: &str| {
        let text = format!("{HEAD}[[fault]]\nkind = \"crash-node\"\n{rest}\n");
        Scenario::parse(&text, "mine.toml").unwrap()
    };
    let scenario = fault("at = \"1s\"\nnodes = [4]");
    let others = fault("when.on = \"reply\"\nnodes = \"others\"");
    assert!(scenario.check_for(5).is_ok() && others.check_for(1).is_err());
    let error = scenario.check_for(1).unwrap_err().to_string();
    insta::assert_snapshot!(error, @"
    mine: fault[0].nodes: there is no node 4: the run has 1, numbered from 0
      = help: set `topology.nodes`, or choose a lock that uses more nodes
    ");
}

#[test]
fn unknown_name_is_rejected_with_the_nearest_one_or_the_list() {
    let error = catalog::named("gc-pasue").unwrap_err().to_string();
    assert!(error.ends_with("did you mean `gc-pause`?"), "{error}");
    let error = catalog::named("nothing-like-it").unwrap_err().to_string();
    assert!(error.contains("holder-crash"), "{error}");
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in ".{0,200}") {
        let _ = Scenario::parse(&text, "any.toml");
        let _ = text.parse::<LeaseDuration>();
        let _ = text.parse::<Rate>();
    }

    #[test]
    fn damaged_catalog_files_do_not_panic(
        which in 0..catalog::CATALOG.len(),
        at in 0usize..2000,
        with in "[\\PC\n]{0,8}",
    ) {
        let (_, text) = catalog::CATALOG[which];
        let mut damaged: Vec<char> = text.chars().collect();
        let at = at.min(damaged.len());
        damaged.splice(at..(at + 3).min(damaged.len()), with.chars());
        let damaged: String = damaged.into_iter().collect();
        if let Err(error) = Scenario::parse(&damaged, "damaged.toml") {
            prop_assert!(error.to_string().starts_with("damaged.toml"));
        }
    }

    #[test]
    fn generated_plans_are_valid_and_round_trip(
        scenario in arbitrary::scenario(5, 4)
    ) {
        let text = toml::to_string(&scenario).unwrap();
        let again = Scenario::parse(&text, "generated.toml");
        prop_assert_eq!(again.as_ref(), Ok(&scenario), "{}", text);
        prop_assert!(scenario.check_for(5).is_ok());
    }
}

#[test]
fn catalog_faults_have_readable_sentences() {
    let mut sentences = String::new();
    for name in catalog::names() {
        for fault in &catalog::named(name).unwrap().faults {
            sentences.push_str(&format!("{name}: {}\n", fault.sentence()));
        }
    }
    insta::assert_snapshot!("fault_sentences", sentences);
}

#[test]
fn scenario_page_documents_every_word() {
    let page = include_str!("../../docs/scenarios.md");
    // When all these files are rejected, the errors list every key and word that a file may contain.
    let text =
        "name = \"n\"\nsummary = \"S.\"\n[workload]\nx = 1\n[[fault]]\nat = \"1s\"\nkind = \"x\"\n";
    let mut words: Vec<String> = Vec::new();
    for wrong in [
        text.to_owned(),
        "x = 1".to_owned(),
        format!("{HEAD}[topology]\nx = 1"),
        format!("{HEAD}[topology]\npersistence = \"x\""),
        format!("{HEAD}[judge]\nx = 1"),
        format!("{HEAD}[[fault]]\nkind = \"cut\"\nx = 1"),
        format!("{HEAD}[[fault]]\nkind = \"x\""),
        format!("{HEAD}[[fault]]\nkind = \"cut\"\nwhen = {{ x = 1 }}"),
        format!("{HEAD}[[fault]]\nkind = \"cut\"\nwhen = {{ on = \"x\" }}"),
        format!("{HEAD}[[fault]]\nkind = \"cut\"\nwhen = {{ on = \"reply\", during = \"x\" }}"),
        format!("{HEAD}[[fault]]\nkind = \"cut\"\ndirection = \"x\""),
        format!("{HEAD}[[fault]]\nkind = \"exhaust\"\nwhat = \"x\""),
    ] {
        let problem = Scenario::parse(&wrong, "words.toml").unwrap_err().problem;
        let quoted = problem.split('`').skip(3).step_by(2);
        words.extend(quoted.map(str::to_owned));
    }
    assert!(words.len() > 50, "{words:?}");
    for word in words {
        let forms = ["`WORD`", "`[WORD]`", "`[[WORD]]`", "`WORD = ", "[WORD."];
        let mut forms = forms.iter().map(|form| form.replace("WORD", &word));
        let is_documented = forms.any(|form| page.contains(&form));
        assert!(
            is_documented,
            "docs/scenarios.md does not document `{word}`"
        );
    }
}
