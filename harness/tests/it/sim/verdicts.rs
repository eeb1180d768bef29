//! What the catalog expects of every built-in lock comes out in the simulation.

use picklock_harness::check::{Property, Status, judge};
use picklock_harness::sim::Subject;
use picklock_impls::{STRATEGIES, Strategy};
use picklock_scenarios::{Expectation, catalog};

use super::simulate;

#[test]
fn every_lock_does_as_every_scenario_expects() {
    for name in catalog::names_in(&[picklock_scenarios::WorldName::Sim]) {
        let scenario = catalog::named(name).unwrap();
        let fits = |strategy: &&Strategy| scenario.check_for(strategy.nodes).is_ok();
        let expect = &scenario.expect;
        for strategy in STRATEGIES.iter().filter(fits) {
            // More seeds: `picklock matrix --backend sim --seeds 1000`.
            for seed in 0..2 {
                let history = simulate(name, &Subject::of(strategy), seed);
                let verdicts = judge(&history);
                let expected = expect.get(strategy.name).unwrap_or(&expect["*"]);
                for property in Property::ALL {
                    let verdict = &verdicts[&property];
                    let cell = format!("{} × {name}, seed {seed}, {property}", strategy.name);
                    match expected.get(property.word()) {
                        Some(Expectation::Held) => {
                            assert_eq!(
                                verdict.status,
                                Status::Held,
                                "{cell}: {:#?}",
                                verdict.story
                            );
                        }
                        Some(Expectation::Violated { cause }) => {
                            assert_eq!(
                                verdict.status,
                                Status::Violated,
                                "{cell}: {:?}",
                                verdict.story
                            );
                            if let Some(cause) = cause {
                                assert_eq!(verdict.cause.unwrap().word(), cause, "{cell}");
                            }
                        }
                        Some(Expectation::Any) | None => {}
                    }
                }
            }
        }
    }
}
