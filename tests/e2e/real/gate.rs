//! The gate with runs on real servers.

use crate::gate::gate;

#[test]
fn times_on_real_servers_are_compared_with_the_control() {
    let config = "control = \"set-nx-px\"\npairs = 6\n[[cells]]\nbackends = [\"process\"]\nlocks = [\"twice-as-slow\"]\nscenarios = [\"round-trips.toml\"]\n[[limit]]\nmetric = \"acquire.p50\"\nmin_vs_control = 1.2\n";
    let scenario =
        include_str!("../../../docs/examples/round-trips.toml").replace("stock = 30", "stock = 20");
    let scenario = scenario.replace("min_grants = 30", "min_grants = 20");
    let call = gate("--json", config).file("round-trips.toml", &scenario);
    // Latencies do not matter in this test: the gate passes unless the slow lock was certainly faster than the control.
    let document = call.run().exits(0).document();
    let limit = &document["limits"][0];
    assert_eq!(limit["pairs"].as_array().unwrap().len(), 6, "{document}");
    assert_eq!(document["runs"], 6);
}
