//! The connection to one external server: TCP or TLS, and the login.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::BackendError;
use super::external_fault::ExternalFault;
use crate::external_servers::{ExternalServer, ExternalServers};
use crate::secret::Secret;

/// How long a connection may take, even to a distant server.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum length of a reply line, in bytes.
const MAX_LINE_LENGTH: usize = 1024;

/// A connection in plain text or over TLS.
pub(super) trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Opens connections to one server.
pub(super) struct Upstream {
    pub(super) server: ExternalServer,
    tls: Option<TlsConnector>,
}

impl Upstream {
    /// Creates the upstreams of all these servers.
    ///
    /// # Errors
    /// Returns an error if a file for TLS cannot be used.
    pub(super) fn all(servers: &ExternalServers) -> Result<Vec<Arc<Upstream>>, BackendError> {
        let mut tls = None;
        if let Some(first) = servers.servers.iter().find(|server| server.tls) {
            let config = configuration(servers).map_err(|fault| error_at(first, fault))?;
            tls = Some(TlsConnector::from(Arc::new(config)));
        }
        let upstream = |server: &ExternalServer| Upstream {
            server: server.clone(),
            tls: tls.clone().filter(|_| server.tls),
        };
        Ok(servers.servers.iter().map(upstream).map(Arc::new).collect())
    }

    /// Returns a text from the server with the password hidden.
    pub(super) fn without_secret(&self, text: &str) -> String {
        match &self.server.password {
            Some(secret) => secret.hidden_in(text).into_owned(),
            None => text.to_owned(),
        }
    }

    /// Converts a fault of this server to an error of the backend.
    pub(super) fn error(&self, fault: ExternalFault) -> BackendError {
        error_at(&self.server, fault)
    }

    /// Opens a connection and logs in.
    ///
    /// # Errors
    /// Returns an error if the server is gone, or rejects this client.
    pub(super) async fn connect(&self) -> Result<Box<dyn Connection>, ExternalFault> {
        timeout(PATIENCE, self.log_in())
            .await
            .unwrap_or_else(|_| match self.tls {
                // A server without TLS treats the handshake as an incomplete command, and waits for the rest.
                Some(_) => Err(ExternalFault::Tls(io::ErrorKind::TimedOut.into())),
                None => Err(ExternalFault::timed_out("a connection with AUTH", PATIENCE)),
            })
    }

    async fn log_in(&self) -> Result<Box<dyn Connection>, ExternalFault> {
        let ExternalServer { host, port, .. } = &self.server;
        let stream = TcpStream::connect((host.as_str(), *port))
            .await
            .map_err(ExternalFault::Unreachable)?;
        stream
            .set_nodelay(true)
            .map_err(ExternalFault::Unreachable)?;
        let mut connection: Box<dyn Connection> = match &self.tls {
            None => Box::new(stream),
            Some(tls) => {
                let name = ServerName::try_from(host.clone())
                    .map_err(|error| ExternalFault::Tls(io::Error::other(error)))?;
                let encrypted = tls.connect(name, stream).await;
                Box::new(encrypted.map_err(ExternalFault::from_tls)?)
            }
        };
        if let Some(login) = login(&self.server) {
            let answer = self.answer(&mut connection, &login).await?;
            if answer != "+OK" {
                let reason = answer.trim_start_matches('-');
                return Err(ExternalFault::WrongPassword(self.without_secret(reason)));
            }
        }
        Ok(connection)
    }

    /// Checks that the server answers at all, even with an error.
    ///
    /// # Errors
    /// As [`connect`](Upstream::connect).
    pub(super) async fn check_answers(&self) -> Result<(), ExternalFault> {
        let mut connection = self.connect().await?;
        timeout(PATIENCE, self.answer(&mut connection, b"PING\r\n"))
            .await
            .unwrap_or_else(|_| Err(ExternalFault::timed_out("PING", PATIENCE)))
            .map(drop)
    }

    /// Sends a command, and returns the first line of the reply.
    async fn answer(
        &self,
        connection: &mut Box<dyn Connection>,
        command: &[u8],
    ) -> Result<String, ExternalFault> {
        let answer = async {
            connection.write_all(command).await?;
            connection.flush().await?;
            line(connection).await
        };
        answer.await.map_err(|error| match self.tls {
            // A server that requires a client certificate reports its absence only after the handshake.
            Some(_) => ExternalFault::from_tls(error),
            None => ExternalFault::Closed,
        })
    }
}

fn error_at(server: &ExternalServer, fault: ExternalFault) -> BackendError {
    BackendError::External {
        server: server.place(),
        fault: Box::new(fault),
    }
}

/// Returns the `AUTH` command, with the user if there is one, or `None` if no login is needed.
fn login(server: &ExternalServer) -> Option<Vec<u8>> {
    let user = server.user.as_deref();
    let password = server.password.as_ref().map(Secret::expose);
    let password = password.or(user.map(|_| ""))?;
    let mut login = redis::cmd("AUTH");
    login.arg(user).arg(password);
    Some(login.get_packed_command())
}

/// Reads one line, and returns it without the line break.
pub(super) async fn line(connection: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    loop {
        match connection.read_u8().await? {
            b'\n' => break,
            byte if line.len() < MAX_LINE_LENGTH => line.push(byte),
            _ => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn configuration(servers: &ExternalServers) -> Result<ClientConfig, ExternalFault> {
    let mut roots = RootCertStore::empty();
    match &servers.ca {
        Some(file) => {
            for certificate in certificates(file)? {
                roots
                    .add(certificate)
                    .map_err(|error| unusable(file, error))?;
            }
        }
        None => {
            check_native_sources(|name| std::env::var_os(name))?;
            let native = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(native.certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ExternalFault::Tls(io::Error::other(error)))?
        .with_root_certificates(roots);
    let Some((cert, key)) = &servers.identity else {
        return Ok(builder.with_no_client_auth());
    };
    let pem = pem(key)?;
    let private = PrivateKeyDer::from_pem_slice(&pem).map_err(|error| unusable(key, error))?;
    builder
        .with_client_auth_cert(certificates(cert)?, private)
        .map_err(|error| unusable(cert, error))
}

/// If environment variables name the files with the certificates of this machine, checks that these are regular files.
/// The library that reads them would wait forever for a FIFO.
fn check_native_sources(variable: impl Fn(&str) -> Option<OsString>) -> Result<(), ExternalFault> {
    let file = variable("SSL_CERT_FILE").map(PathBuf::from);
    let dirs = variable("SSL_CERT_DIR").unwrap_or_default();
    let inside = std::env::split_paths(&dirs)
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .flat_map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())));
    for file in file.into_iter().chain(inside) {
        let found = std::fs::metadata(&file);
        // The library skips directories and files that do not exist.
        if found.is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(unusable(&file, "expected a regular file"));
        }
    }
    Ok(())
}

/// Reads a regular file of at most [`MAX_PEM`] bytes. Other files are rejected, because a FIFO or a device may never
/// end.
fn pem(file: &Path) -> Result<Vec<u8>, ExternalFault> {
    let found = std::fs::metadata(file).map_err(|error| unusable(file, error))?;
    if !found.is_file() || found.len() > MAX_PEM {
        let why = format!("expected a regular file of at most {MAX_PEM} bytes");
        return Err(unusable(file, why));
    }
    std::fs::read(file).map_err(|error| unusable(file, error))
}

/// Maximum length of a file with certificates or a key, in bytes.
const MAX_PEM: u64 = 4 << 20;

/// Reads the certificates of a file.
fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ExternalFault> {
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&pem(file)?)
        .collect::<Result<_, _>>()
        .map_err(|error| unusable(file, error))?;
    if certificates.is_empty() {
        return Err(unusable(file, "the file contains no certificate"));
    }
    Ok(certificates)
}

fn unusable(file: &Path, why: impl std::fmt::Display) -> ExternalFault {
    ExternalFault::File {
        file: file.display().to_string(),
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_of_variables_are_read_from_regular_files_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().as_os_str().to_owned();
        let check = |name: &'static str, value: &OsString| {
            check_native_sources(|asked| (asked == name).then(|| value.clone()))
        };
        assert!(check("SSL_CERT_DIR", &path).is_ok());
        assert!(check("SSL_CERT_FILE", &"/no/such/file".into()).is_ok());
        let refusal = check("SSL_CERT_FILE", &"/dev/zero".into()).unwrap_err();
        assert!(
            refusal.to_string().contains("expected a regular file"),
            "{refusal}"
        );
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("0.pem")).unwrap();
        assert!(check("SSL_CERT_DIR", &path).is_err());
    }

    #[test]
    fn certificates_are_read_from_regular_files_only() {
        for other in ["/dev/zero", "/"] {
            let refusal = pem(Path::new(other)).unwrap_err().to_string();
            assert!(refusal.contains("expected a regular file"), "{refusal}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(MAX_PEM + 1).unwrap();
        assert!(pem(file.path()).is_err());
        file.as_file().set_len(MAX_PEM).unwrap();
        assert!(pem(file.path()).is_ok());
    }
}
