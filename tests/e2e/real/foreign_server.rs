//! A foreign Redis server with keys, a password, TLS and an access control list. It can report whether anything about
//! it has changed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use redis::{Connection, RedisResult, Value};
use tempfile::TempDir;

/// The server, which ends with the test.
pub struct ForeignServer {
    child: Child,
    /// Port without TLS.
    pub port: u16,
    /// Port with TLS, if it has one.
    pub tls_port: u16,
    home: TempDir,
    password: Option<String>,
}

/// Everything that a run must leave unchanged.
#[derive(Debug, PartialEq, Eq)]
pub struct Contents {
    /// `DUMP` of each key, and whether the key expires.
    keys: BTreeMap<Vec<u8>, (Vec<u8>, bool)>,
    settings: Vec<(String, String)>,
    users: Vec<String>,
}

/// Returns a port that was free.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl ForeignServer {
    /// Starts a server without a password.
    pub fn start(settings: &[&str]) -> ForeignServer {
        ForeignServer::launch(None, settings, false)
    }

    /// Starts a server with a password.
    pub fn with_password(password: &str, settings: &[&str]) -> ForeignServer {
        ForeignServer::launch(Some(password), settings, false)
    }

    /// Starts a server with a second port for TLS, and certificates signed by a private authority.
    pub fn with_tls(settings: &[&str]) -> ForeignServer {
        ForeignServer::launch(None, settings, true)
    }

    /// Starts the three masters of a Redis Cluster.
    pub fn cluster() -> [ForeignServer; 3] {
        let buses = [(); 3].map(|()| free_port().to_string());
        let servers = buses
            .clone()
            .map(|bus| ForeignServer::start(&["--cluster-enabled", "yes", "--cluster-port", &bus]));
        let slots = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];
        for ((server, (first, last)), bus) in servers.iter().zip(slots).zip(&buses) {
            server.tell(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
            let port = server.port.to_string();
            servers[0].tell(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]);
        }
        for server in &servers {
            let mut connection = server.connection();
            let mut is_ready = || {
                let info: String = redis::cmd("CLUSTER")
                    .arg("INFO")
                    .query(&mut connection)
                    .unwrap();
                info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
            };
            // They agree after some heartbeats.
            while !is_ready() {
                std::thread::yield_now();
            }
        }
        servers
    }

    fn launch(password: Option<&str>, settings: &[&str], tls: bool) -> ForeignServer {
        let home = tempfile::Builder::new()
            .prefix("foreign-")
            .tempdir()
            .unwrap();
        if tls {
            make_certificates(home.path());
        }
        // Another process may take a port before the server binds it.
        for _ in 0..20 {
            let (port, tls_port) = (free_port(), free_port());
            let mut command = Command::new("redis-server");
            command.current_dir(home.path());
            command.args([
                "--port",
                &port.to_string(),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
            ]);
            if let Some(password) = password {
                command.args(["--requirepass", password]);
            }
            if tls {
                command.args(["--tls-port", &tls_port.to_string()]);
                command.args([
                    "--tls-cert-file",
                    "server.crt",
                    "--tls-key-file",
                    "server.key",
                ]);
                command.args(["--tls-ca-cert-file", "ca.crt"]);
            }
            let mut child = command
                .args(settings)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut log = BufReader::new(child.stdout.take().unwrap())
                .lines()
                .map_while(Result::ok);
            if log.any(|line| line.contains("Ready to accept connections")) {
                // The pipe must be drained so that it does not block.
                std::thread::spawn(move || log.for_each(drop));
                return ForeignServer {
                    child,
                    port,
                    tls_port,
                    home,
                    password: password.map(str::to_owned),
                };
            }
            child.wait().unwrap();
        }
        panic!("redis-server did not come up on any of 20 ports");
    }

    /// Fills the server with foreign keys of several types, with and without expiry.
    pub fn filled(self) -> ForeignServer {
        let mut connection = self.connection();
        for (name, words) in [
            ("SET", &["shop:name", "a \u{0}shop"][..]),
            ("SET", &["picklock", "not ours"]),
            ("SET", &["stock:0000", "7", "PX", "3600000"]),
            ("HSET", &["hash", "a", "1", "b", "2"]),
            ("RPUSH", &["list", "x", "y"]),
            ("ZADD", &["scores", "1", "one", "2", "two"]),
        ] {
            let told: RedisResult<Value> = redis::cmd(name).arg(words).query(&mut connection);
            // In a Cluster, a different server may own the key.
            assert!(
                told.as_ref()
                    .map_or_else(|error| error.redirect_node().is_some(), |_| true)
            );
        }
        self
    }

    /// Opens an administrator's connection.
    pub fn connection(&self) -> Connection {
        let login = self
            .password
            .as_ref()
            .map_or(String::new(), |it| format!(":{it}@"));
        let url = format!("redis://{login}127.0.0.1:{}", self.port);
        redis::Client::open(url).unwrap().get_connection().unwrap()
    }

    /// Runs an administrator's command.
    pub fn tell(&self, words: &[&str]) {
        let answered: Value = redis::Cmd::new()
            .arg(words)
            .query(&mut self.connection())
            .unwrap();
        assert!(
            !matches!(answered, Value::ServerError(_)),
            "{words:?}: {answered:?}"
        );
    }

    /// Returns the current contents.
    pub fn contents(&self) -> Contents {
        let mut connection = self.connection();
        let names: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
        let mut keys = BTreeMap::new();
        for name in names {
            let dump = redis::cmd("DUMP")
                .arg(&name)
                .query(&mut connection)
                .unwrap();
            let left: i64 = redis::cmd("PTTL")
                .arg(&name)
                .query(&mut connection)
                .unwrap();
            keys.insert(name, (dump, left >= 0));
        }
        let settings = redis::cmd("CONFIG")
            .arg("GET")
            .arg("*")
            .query(&mut connection);
        let settings: BTreeMap<String, String> = settings.unwrap();
        let users = redis::cmd("ACL")
            .arg("LIST")
            .query(&mut connection)
            .unwrap();
        Contents {
            keys,
            settings: settings.into_iter().collect(),
            users,
        }
    }

    /// Returns the path of a file in its directory: `ca.crt`, `client.crt`, `client.key`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ForeignServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Creates an authority and two certificates: for a server on 127.0.0.1, and for a client.
fn make_certificates(home: &Path) {
    let openssl = |line: &str| {
        let output = Command::new("openssl")
            .args(line.split(' '))
            .current_dir(home)
            .output();
        let output = output.expect("these tests need openssl on the PATH");
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!(
        "req -x509 {key} -keyout ca.key -out ca.crt -days 2 -subj /CN=authority"
    ));
    std::fs::write(home.join("server.ext"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    std::fs::write(home.join("client.ext"), "extendedKeyUsage=clientAuth\n").unwrap();
    for name in ["server", "client"] {
        openssl(&format!(
            "req -new {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"
        ));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile {name}.ext -out {name}.crt"
        ));
    }
}
