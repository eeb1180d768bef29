//! The part of HTTP/1.1 that the control API needs: one request per connection.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::routes::{Answer, Service, problem};

/// Maximum size of a request's head, in bytes.
const MAX_HEAD: u64 = 16 * 1024;

/// Maximum size of a request's body, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause after a failed accept, because the machine may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Answers requests until it is dropped.
pub async fn serve(listener: TcpListener, service: Service) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let service = service.clone();
        tokio::task::spawn_local(async move {
            // A client that went away needs no answer.
            timeout(PATIENCE, converse(stream, &service)).await.ok();
        });
    }
}

async fn converse(stream: TcpStream, service: &Service) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (status, body) = match read(&mut stream).await? {
        Ok(request) => service.answer(&request.method, &request.path, &request.body),
        Err(rejected) => rejected,
    };
    let body = format!("{body}\n");
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        reason(status),
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        500 => "Internal Server Error",
        _ => "Bad Request",
    }
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// Reads a request. The inner error is the answer to a request that is refused.
async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Result<Request, Answer>> {
    let mut head = String::new();
    let mut limited = (&mut *stream).take(MAX_HEAD);
    while !head.ends_with("\r\n\r\n") && !head.ends_with("\n\n") {
        if limited.read_line(&mut head).await? == 0 {
            return Ok(Err(problem(
                400,
                "the head of the request is incomplete or too large",
            )));
        }
    }
    let (request, length) = match parse(&head) {
        Ok(parsed) => parsed,
        Err(refused) => return Ok(Err(refused)),
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Ok(Request { body, ..request }))
}

/// Returns the request without its body, and the length of the body.
fn parse(head: &str) -> Result<(Request, usize), Answer> {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path), Some(_)) = (words.next(), words.next(), words.next()) else {
        return Err(problem(400, "this is not a request of HTTP/1.1"));
    };
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        // Only a browser sends this header, for a page that may come from anywhere.
        if name.eq_ignore_ascii_case("origin") {
            return Err(problem(403, "requests of web pages are refused"));
        }
        if name.eq_ignore_ascii_case("content-length") {
            length = value
                .trim()
                .parse()
                .map_err(|_| problem(400, "Content-Length: expected a non-negative integer"))?;
        }
    }
    if length > MAX_BODY {
        return Err(problem(413, "the body is too large"));
    }
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        body: Vec::new(),
    };
    Ok((request, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_parsed_or_refused() {
        let (request, length) = parse("POST /faults HTTP/1.1\r\ncontent-length: 5\r\n\r\n")
            .ok()
            .unwrap();
        assert_eq!(
            (request.method.as_str(), request.path.as_str(), length),
            ("POST", "/faults", 5)
        );
        for (head, status) in [
            ("hello\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nOrigin: http://example.org\r\n\r\n", 403),
        ] {
            assert_eq!(parse(head).err().unwrap().0, status, "{head}");
        }
    }
}
