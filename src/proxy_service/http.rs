//! The control API over HTTP/1.1.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use picklock_harness::proxy::is_own_user;
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::routes::{Answer, Service, problem};

/// Maximum size of a request's head, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// Maximum size of a request's body, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Time limit for the arrival of the head of a request, and of its body.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause after a failed accept, because the machine may be out of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Answers requests until it is dropped.
pub async fn serve(listener: TcpListener, service: Service) {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // Other users of the machine could read the command log, and add faults.
        if !is_own_user(&stream, peer) {
            continue;
        }
        let service = service.clone();
        tokio::task::spawn_local(async move {
            let respond = service_fn(move |request| respond(request, service.clone()));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(MAX_HEAD)
                .serve_connection(TokioIo::new(stream), respond);
            // A client that went away needs no answer.
            connection.await.ok();
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    service: Service,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, document) = answer(request, &service).await;
    let mut response = Response::new(Full::from(format!("{document}\n")));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}

async fn answer(request: Request<Incoming>, service: &Service) -> Answer {
    let (head, body) = request.into_parts();
    let Ok(Some(body)) = timeout(PATIENCE, read(body)).await else {
        return problem(400, "the body of the request is incomplete");
    };
    if is_web_page(&head.headers) {
        return problem(403, "requests of web pages are refused");
    }
    if body.len() > MAX_BODY {
        let message = format!("the body is too large: at most {MAX_BODY} bytes are accepted");
        return problem(413, &message);
    }
    let query = head.uri.query().unwrap_or_default();
    service.answer(head.method.as_str(), head.uri.path(), query, &body)
}

/// Reads a body, or returns `None` if the client does not send all of it. If the body is too large, returns only its
/// beginning, but reads the rest too: otherwise a client that is still sending would get a reset instead of the answer.
async fn read(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.ok()?.into_data().unwrap_or_default();
        if bytes.len() <= MAX_BODY {
            bytes.extend_from_slice(&data);
        }
    }
    Some(bytes)
}

/// Returns `true` if a browser sends this request on behalf of a web page. Only browsers send `Origin`, and a page
/// whose host name resolves to this machine sends that name in `Host`.
fn is_web_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    headers.contains_key(ORIGIN) || host.is_some_and(|host| !is_this_machine(host))
}

fn is_this_machine(host: &str) -> bool {
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    let name = if port.ends_with(']') { host } else { name };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        headers
    }

    #[test]
    fn request_of_a_web_page_is_recognised() {
        for host in [
            "127.0.0.1:80",
            "localhost",
            "LOCALHOST:1",
            "[::1]:80",
            "[::1]",
        ] {
            assert!(!is_web_page(&headers("host", host)), "{host}");
        }
        assert!(is_web_page(&headers("host", "example.org:80")));
        assert!(is_web_page(&headers("origin", "http://127.0.0.1:80")));
        assert!(!is_web_page(&HeaderMap::new()));
    }
}
