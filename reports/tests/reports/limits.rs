//! The grammar of limits.

use picklock_reports::gate::{Limit, Metric, Op, Term, Unit};
use proptest::prelude::*;

fn understood(text: &str) -> String {
    match Limit::parse(text) {
        Ok(limit) => limit.to_string(),
        Err(error) => {
            let nearest = error
                .unknown
                .map(|(word, _)| format!(" (`{word}` is unknown)"));
            format!(
                "{} {}{}",
                error.at,
                error.problem,
                nearest.unwrap_or_default()
            )
        }
    }
}

#[test]
fn limits_read_as_they_are_meant() {
    let cases = [
        (
            "acquire.p99 < baseline * 1.3 + 2ms",
            "acquire.p99 < baseline * 1.3 + 2ms",
        ),
        (
            "acquire.p99<1.3*baseline+2000us",
            "acquire.p99 < baseline * 1.3 + 2ms",
        ),
        ("release.max<=1.5s", "release.max <= 1.5s"),
        (
            "release.p999 > -2ms + control",
            "release.p999 > -2ms + control",
        ),
        ("violations.lease == 0", "violations.lease == 0"),
        ("granted != baseline - 1", "granted != baseline - 1"),
        (
            "acquire.count >= 0.5 * baseline",
            "acquire.count >= baseline * 0.5",
        ),
        ("acquire.p50 < control * 1.5", "acquire.p50 < control * 1.5"),
    ];
    for (text, meant) in cases {
        assert_eq!(understood(text), meant, "{text}");
        assert_eq!(understood(meant), meant);
    }
}

#[test]
fn what_makes_no_sense_is_refused_where_it_stands() {
    let texts = [
        "",
        "acquire.p95 < 2ms",
        "acquire.p99",
        "acquire.p99 = 2ms",
        "acquire.p99 < ",
        "acquire.p99 < 2",
        "acquire.p99 < 2min",
        "acquire.p99 < basline",
        "acquire.p99 < baseline * baseline",
        "acquire.p99 < baseline * 2ms",
        "acquire.p99 < 2ms * baseline",
        "acquire.p99 < 2 * 3",
        "acquire.p99 < baseline 2ms",
        "violations.lease < 2ms",
        "granted > control",
        "violations.safety == 0",
        "granted > 1.2.3",
        "granted > 99999999999999999999",
        "granted > 锁",
        "2ms > acquire.p99",
    ];
    let shown: Vec<String> = texts
        .iter()
        .map(|text| format!("{text}\n    {}", understood(text)))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let all: Vec<Metric> = Metric::all()
        .into_iter()
        .map(|(metric, _)| metric)
        .collect();
    let op = prop::sample::select(vec![
        Op::Below,
        Op::AtMost,
        Op::Above,
        Op::AtLeast,
        Op::Equal,
        Op::Unequal,
    ]);
    (prop::sample::select(all), op).prop_flat_map(|(metric, op)| {
        let units = match metric.is_time() {
            true => vec![Unit::Microsecond, Unit::Baseline, Unit::Control],
            false => vec![Unit::One, Unit::Baseline],
        };
        let factor = prop_oneof![
            (0_u32..5_000_000).prop_map(f64::from),
            (0_u32..100_000).prop_map(|n| f64::from(n) / 1000.0),
            0.0..1e12,
        ];
        let term = (factor, any::<bool>(), prop::sample::select(units)).prop_map(
            |(factor, negative, of)| Term {
                factor: if negative { -factor } else { factor },
                of,
            },
        );
        prop::collection::vec(term, 1..5).prop_map(move |bound| Limit { metric, op, bound })
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(limit in any_limit()) {
        let text = limit.to_string();
        prop_assert_eq!(Limit::parse(&text), Ok(limit), "{}", text);
    }

    #[test]
    fn nothing_makes_the_parser_panic(text in "\\PC{0,60}") {
        if let Err(error) = Limit::parse(&text) {
            prop_assert!(error.at <= text.len());
        }
    }

    #[test]
    fn nothing_of_the_right_words_does_either(
        words in prop::collection::vec(prop::sample::select(vec![
            "acquire.p99", "granted", "<", "<=", "==", "+", "-", "*", "baseline", "control", "2ms",
            "1.5", "0", " ", ".", "s", "9e9", "\n", "锁",
        ]), 0..12)
    ) {
        let text = words.concat();
        if let Ok(limit) = Limit::parse(&text) {
            prop_assert_eq!(Limit::parse(&limit.to_string()), Ok(limit));
        }
    }
}
