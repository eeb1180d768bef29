//! Turns the specification of a run or a matrix back into the command that repeats it. No other module does this.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use picklock_harness::external_servers::ExternalServers;
use picklock_harness::named_server::NamedServer;
use picklock_harness::spec::{Overrides, RunSpec, ScenarioSource, ServerChoice};
use picklock_reports::escape::quoted;
use picklock_scenarios::BackendName;

use crate::configuration::DEFAULT_FILE;
use crate::matrix::request::MatrixRequest;
use crate::named_lock::NamedLock;

/// The arguments of the command. Displayed with the program's name, quoted for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReproduceCommand(Vec<OsString>);

impl ReproduceCommand {
    /// Returns the command that repeats a run.
    pub fn for_run(spec: &RunSpec) -> ReproduceCommand {
        let mut line = match &spec.source {
            // The repro file contains everything that the flags below do not repeat.
            ScenarioSource::Repro { file, .. } => {
                let mut line = ReproduceCommand::new("replay", file.as_os_str());
                if spec.lock.command.is_some() {
                    line.0.push("--trust".into());
                }
                line.flag("backend", spec.backend.as_str());
                line
            }
            ScenarioSource::Named(_) | ScenarioSource::Program => {
                let named = OsStr::new(spec.scenario_named());
                let mut line = ReproduceCommand::new("scenario", named);
                line.lock(&NamedLock::from_spec(&spec.lock));
                line.configuration(spec.lock.configuration.as_deref());
                line.flag("backend", spec.backend.as_str());
                line.flag("seed", spec.seed.to_string());
                line.options(&spec.lock.options);
                line.overrides(&spec.overrides);
                line
            }
        };
        line.servers(&spec.servers);
        line
    }

    /// Returns the command that repeats a matrix, in the backends that were chosen.
    pub fn for_matrix(
        request: &MatrixRequest,
        backends: impl IntoIterator<Item = BackendName>,
    ) -> ReproduceCommand {
        let mut line = ReproduceCommand(vec!["matrix".into()]);
        for lock in &request.locks {
            line.lock(lock);
        }
        line.configuration(request.impls.file.as_deref());
        line.flag_if("reference", request.reference.as_ref());
        line.options(&request.options);
        line.flag_if("profile", request.profile.map(|profile| profile.name));
        for scenario in &request.scenarios {
            line.flag("scenario", scenario);
        }
        for backend in backends {
            line.flag("backend", backend.as_str());
        }
        line.flag("seeds", request.seeds.to_string());
        line.flag("seed", request.seed.to_string());
        line.overrides(&request.overrides);
        line.servers(&request.servers);
        line
    }

    /// Returns the arguments, without the program's name.
    pub fn arguments(&self) -> &[OsString] {
        &self.0
    }

    fn new(command: &str, positional: &OsStr) -> ReproduceCommand {
        let mut words = vec![command.into()];
        // A name that begins with a dash would be parsed as a flag, so it gets a leading `./`.
        if positional.as_encoded_bytes().starts_with(b"-") {
            words.push(Path::new(".").join(positional).into())
        } else {
            words.push(positional.to_owned())
        }
        ReproduceCommand(words)
    }

    fn flag(&mut self, name: &str, value: impl AsRef<OsStr>) {
        let value = value.as_ref();
        let mut flag = OsString::from(format!("--{name}"));
        if value.as_encoded_bytes().starts_with(b"-") {
            // A separate word would be parsed as a flag.
            flag.push("=");
            flag.push(value);
            self.0.push(flag);
        } else {
            self.0.extend([flag, value.to_owned()]);
        }
    }

    fn flag_if(&mut self, name: &str, value: Option<impl AsRef<OsStr>>) {
        if let Some(value) = value {
            self.flag(name, value);
        }
    }

    fn lock(&mut self, lock: &NamedLock) {
        let (flag, value) = lock.flag();
        self.flag(flag, value);
    }

    /// Adds `--config`, unless the file is the default one.
    fn configuration(&mut self, file: Option<&Path>) {
        self.flag_if(
            "config",
            file.filter(|file| *file != Path::new(DEFAULT_FILE)),
        );
    }

    fn overrides(&mut self, overrides: &Overrides) {
        self.flag_if("workers", overrides.workers.map(|it| it.to_string()));
        self.flag_if("nodes", overrides.nodes.map(|it| it.to_string()));
        self.flag_if("ttl", overrides.ttl.map(|it| it.to_string()));
    }

    fn options(&mut self, options: &[(String, String)]) {
        for (key, value) in options {
            self.flag("impl-option", format!("{key}={value}"));
        }
    }

    fn servers(&mut self, servers: &ServerChoice) {
        self.flag_if("server", servers.named.map(NamedServer::name));
        self.flag_if("image", servers.image.as_ref());
        self.flag_if("redis-server", servers.redis_server.as_ref());
        let Some(table) = servers.external.as_ref().map(ExternalServers::table) else {
            return;
        };
        for url in table.redis {
            self.flag("redis", url);
        }
        self.flag_if("redis-prefix", table.prefix);
        self.flag_if("redis-ca", table.ca);
        self.flag_if("redis-cert", table.cert);
        self.flag_if("redis-key", table.key);
    }
}

impl fmt::Display for ReproduceCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("picklock")?;
        for word in &self.0 {
            write!(f, " {}", quoted(&word.to_string_lossy()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use clap::Parser;
    use picklock_harness::named_server::NamedServer;
    use picklock_harness::spec::RunSpec;
    use picklock_impls::{LOCKS, MUTANTS};
    use picklock_scenarios::{BackendName, LeaseDuration, catalog};
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::ReproduceCommand;
    use crate::cli::{BackendChoice, Cli, Command, ConfigArgs, LockArgs, ScenarioArgs, ServerArgs};
    use crate::external_choice::ExternalArgs;
    use crate::named_lock::NamedLock;
    use crate::specification;

    fn spec(args: &ScenarioArgs) -> Option<RunSpec> {
        args.backend.backend()?;
        specification::from_args(args).ok()
    }

    /// Parses the arguments that a shell would pass for the printed command.
    fn typed(spec: &RunSpec) -> Result<ScenarioArgs, String> {
        let printed = ReproduceCommand::for_run(spec).to_string();
        let words = words_in_shell(&printed)?;
        let cli = Cli::try_parse_from(words).map_err(|error| format!("{printed}: {error}"))?;
        match cli.command {
            Command::Scenario(args) => Ok(args),
            _ => Err(format!("{printed}: another command")),
        }
    }

    /// Returns the words that bash reads. The words of a command without `$'` are those of every POSIX shell.
    fn words_in_shell(printed: &str) -> Result<Vec<String>, String> {
        if !printed.contains("$'") {
            return shell_words::split(printed).map_err(|error| error.to_string());
        }
        let script = format!("printf '%s\\0' {printed}");
        let bash = std::process::Command::new("bash")
            .args(["-c", &script])
            .env("LC_ALL", "C.UTF-8")
            .output();
        let output = bash.map_err(|error| error.to_string())?.stdout;
        let mut words: Vec<String> = String::from_utf8_lossy(&output)
            .split('\0')
            .map(str::to_owned)
            .collect();
        words.pop();
        Ok(words)
    }

    fn plain(name: String) -> LockArgs {
        LockArgs {
            plain: Some(name),
            labelled: None,
        }
    }

    fn locks() -> impl Strategy<Value = (LockArgs, Vec<(String, String)>)> {
        let built_in = LOCKS.iter().chain(MUTANTS).map(|it| it.name);
        let built_in: Vec<&str> = built_in.collect();
        let built_in =
            prop::sample::select(built_in).prop_map(|name| (plain(name.to_owned()), Vec::new()));
        let options = prop::collection::btree_map("[-a-z][a-z0-9.-]{0,8}", "\\PC{0,8}", 0..4);
        let labels = prop::option::of("[A-Z0-9][a-zA-Z0-9._-]{0,12}");
        let program = (labels, "[a-z/][a-z= \\-]{0,12}", options);
        let program = program.prop_map(|(label, command, options)| {
            let given = format!("exec:{command}");
            let lock = match label {
                Some(label) => LockArgs {
                    plain: None,
                    labelled: Some(NamedLock::labelled(&label, &given).unwrap()),
                },
                None => plain(given),
            };
            (lock, options.into_iter().rev().collect())
        });
        prop_oneof![built_in, program]
    }

    fn arguments() -> impl Strategy<Value = ScenarioArgs> {
        let scenarios: Vec<&str> = catalog::names().collect();
        let scenarios = prop::sample::select(scenarios);
        let backends = [
            BackendChoice::Sim,
            BackendChoice::Process,
            BackendChoice::Docker,
        ];
        let overrides = (
            prop::option::of(1_usize..9),
            prop::option::of(prop::sample::select(vec![1_usize, 3, 5])),
            prop::option::of(100_u64..60_000),
        );
        let names: Vec<&str> = NamedServer::names().collect();
        let named = prop::sample::select(names).prop_map(|name| name.parse().unwrap());
        let servers = (
            prop::option::of(named),
            prop::option::of("[a-z/:.-]{1,12}"),
            prop::option::of("\\PC{1,12}"),
        );
        let backend = prop::sample::select(backends.to_vec());
        (
            scenarios,
            locks(),
            backend,
            any::<u64>(),
            overrides,
            servers,
        )
            .prop_map(
                |(scenario, (lock, options), backend, seed, overrides, servers)| {
                    let (server, image, redis_server) = servers;
                    let (workers, nodes, ttl_ms) = overrides;
                    let ttl = ttl_ms.map(std::time::Duration::from_millis);
                    ScenarioArgs {
                        scenario: scenario.to_owned(),
                        lock,
                        config: ConfigArgs::default(),
                        options,
                        backend,
                        seed: Some(seed),
                        workers,
                        nodes,
                        ttl: ttl.map(LeaseDuration::Absolute),
                        servers: ServerArgs {
                            server,
                            image,
                            redis_server: redis_server.map(PathBuf::from),
                            external: ExternalArgs::default(),
                        },
                        json: false,
                        out: None,
                        quiet: false,
                        verbose: false,
                        no_rerun: false,
                    }
                },
            )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512,
            max_global_rejects: 8192,
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn the_printed_command_makes_the_same_specification(args in arguments()) {
            let spec_of_args = spec(&args);
            prop_assume!(spec_of_args.is_some());
            let before = spec_of_args.unwrap();
            let again = typed(&before).map_err(TestCaseError::fail)?;
            prop_assert_eq!(spec(&again), Some(before));
        }
    }

    #[test]
    fn servers_of_the_user_are_named_without_their_passwords() {
        let typed = "picklock scenario calm --impl redlock --backend external --seed 7 \
            --redis redis://shop:geheim@h:1 --redis-prefix a: --redis rediss://[::1]:2 --redis-ca c.pem";
        let Command::Scenario(args) = Cli::parse_from(typed.split_whitespace()).command else {
            panic!("another command");
        };
        let printed =
            ReproduceCommand::for_run(&specification::from_args(&args).unwrap()).to_string();
        assert_eq!(
            printed,
            "picklock scenario calm --impl redlock --backend external --seed 7 \
             --redis 'redis://shop:$PICKLOCK_REDIS_PASSWORD@h:1' --redis 'rediss://[::1]:2' \
             --redis-prefix a: --redis-ca c.pem"
        );
    }

    #[test]
    fn a_replay_is_repeated_by_its_file_with_the_servers() {
        let args = [
            "picklock", "scenario", "calm", "--impl", "redlock", "--seed", "7",
        ];
        let Command::Scenario(args) = Cli::parse_from(args).command else {
            panic!("another command");
        };
        let mut spec = specification::from_args(&args).unwrap();
        spec.backend = BackendName::Process;
        spec.servers.redis_server = Some("/opt/a server".into());
        spec.source = picklock_harness::spec::ScenarioSource::Repro {
            named: "calm".into(),
            file: "kept/repro.toml".into(),
        };
        assert_eq!(
            ReproduceCommand::for_run(&spec).to_string(),
            "picklock replay kept/repro.toml --backend process --redis-server '/opt/a server'"
        );
    }
}
