//! What each route does.

use std::{borrow::Cow, io, mem, sync::Arc, time::Instant};

use async_compression::{
    tokio::bufread::{GzipDecoder, ZstdDecoder},
    zstd::DParameter,
};
use axum::{
    Json, Router,
    body::Body,
    extract::{
        MatchedPath, Path, Query, Request, State,
        rejection::{PathRejection, QueryRejection},
    },
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::value::RawValue;
use tokio::io::AsyncBufRead;
use tokio_util::io::{ReaderStream, StreamReader};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::{Instrument, field, trace_span};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{
    Service,
    access::{bearer, is_token},
    body::{self, Documents, Problem, Said},
    judge::{self, Explanation, Lookup, Phase},
    lines,
    metrics::{OfRequest, OfRoute},
    schema::{self, Decided, DecidedOrWrong, OneOrMany, OneOrManyDecided, Submitted, Token},
};
use crate::{input::document as read_document, submission::Identity};

/// Bytes that are decoded at a time.
const PIECE: usize = 1 << 16;
/// The largest window of zstd that is read is 2 to this: 8 MiB (RFC 9659).
const ZSTD_WINDOW_LOG: u32 = 23;

type Shared = State<Arc<Service>>;
type Asked<T> = Result<Query<T>, QueryRejection>;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Judging {
    /// Only find how the documents would be judged, each by itself; remember nothing.
    #[serde(default, deserialize_with = "flag")]
    #[param(value_type = bool, required = false)]
    dry: bool,
}

/// `1`, `true` or nothing, as in `?dry`; `0` or `false`.
fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    match &*text {
        "1" | "true" | "True" | "" => Ok(true),
        "0" | "false" | "False" => Ok(false),
        other => Err(D::Error::custom(format!("{other:?} is neither true nor false"))),
    }
}

/// The query of what takes none: a flag of another call is not ignored.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoQuery {}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "pagesieve",
        description = "A streaming filter for near-duplicate texts and pages."
    ),
    paths(
        judge, judge_lines, explain, lookup, document, remove, stats,
        livez, readyz, metrics
    ),
    modifiers(&Token),
    security((), ("token" = []))
)]
struct Description;

/// The routes of the service, and those of its page.
pub(super) fn router(service: Arc<Service>, page: Router) -> Router {
    let judging = Router::new()
        .route("/v1/judge", post(judge))
        .route("/v1/judge.ndjson", post(judge_lines))
        .route("/v1/explain", post(explain))
        .route("/v1/lookup", post(lookup))
        .route("/v1/documents/{*id}", get(document).delete(remove))
        .route("/v1/stats", get(stats))
        .route_layer(middleware::from_fn_with_state(Arc::clone(&service), when_ready));
    let open = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| async { Json(Description::openapi()) }));
    judging
        .merge(open)
        .fallback(|| async {
            Problem::new(StatusCode::NOT_FOUND, "no such route; see /openapi.json")
        })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "this route has other methods; see /openapi.json",
            )
        })
        .layer(CatchPanicLayer::new())
        .layer(middleware::from_fn(decoded))
        .layer(middleware::from_fn_with_state(Arc::clone(&service), admitted))
        .with_state(Arc::clone(&service))
        .merge(page)
        .layer(middleware::from_fn_with_state(service, counted))
}

/// Requires the token, except for the questions whether the service lives and is ready.
async fn admitted(
    State(service): Shared,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let is_open = ["/livez", "/readyz"].contains(&request.uri().path());
    let Some(token) = service.options.token.as_deref().filter(|_| !is_open) else {
        return Ok(next.run(request).await);
    };
    if bearer(request.headers()).is_some_and(|given| is_token(token, given)) {
        return Ok(next.run(request).await);
    }
    let error = "send the service's token: `Authorization: Bearer TOKEN`";
    Err(Problem::new(StatusCode::UNAUTHORIZED, error))
}

/// Decodes the body: all members of gzip (RFC 1952), all frames of zstd (RFC 8878).
async fn decoded(mut request: Request, next: Next) -> Result<Response, Problem> {
    let Some(coding) = request.headers_mut().remove(header::CONTENT_ENCODING) else {
        return Ok(next.run(request).await);
    };
    let body = mem::take(request.body_mut());
    let body = match &*coding.as_bytes().to_ascii_lowercase() {
        b"identity" => body,
        b"gzip" | b"x-gzip" => {
            let mut decoder = GzipDecoder::new(reader(body));
            decoder.multiple_members(true);
            Body::from_stream(ReaderStream::with_capacity(decoder, PIECE))
        }
        b"zstd" => {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG);
            let mut decoder = ZstdDecoder::with_params(reader(body), &[window]);
            decoder.multiple_members(true);
            Body::from_stream(ReaderStream::with_capacity(decoder, PIECE))
        }
        _ => {
            let error = format!(
                "Content-Encoding {coding:?} is not read: send the body as it is, or compressed by gzip or zstd"
            );
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error));
        }
    };
    *request.body_mut() = body;
    Ok(next.run(request).await)
}

fn reader(body: Body) -> impl AsyncBufRead {
    StreamReader::new(body.into_data_stream().map_err(io::Error::other))
}

/// Counts the request and measures its time.
async fn counted(State(service): Shared, request: Request, next: Next) -> Response {
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or("none", MatchedPath::as_str).to_owned();
    let span = trace_span!(
        "request",
        otel.kind = "server",
        otel.name = format!("{} {route}", request.method()),
        http.request.method = %request.method(),
        http.route = route,
        http.response.status_code = field::Empty,
    );
    let began = Instant::now();
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    service
        .metrics
        .seconds
        .get_or_create(&OfRoute { route: route.clone() })
        .observe(began.elapsed().as_secs_f64());
    service.metrics.requests.get_or_create(&OfRequest { route, status }).inc();
    response
}

/// Answers 503 until the window is restored, and once the service is stopping.
async fn when_ready(
    State(service): Shared,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    readiness(&service)?;
    Ok(next.run(request).await)
}

fn readiness(service: &Service) -> Result<(), Problem> {
    if service.stopping.is_cancelled() {
        return Err(Problem::not_ready("the service is stopping"));
    }
    match *service.judge.phase.borrow() {
        Phase::Ready => Ok(()),
        Phase::Restoring(restored) => {
            let (read, all) = (restored.read, restored.all);
            Err(Problem::not_ready(format!("the window is being restored: {read} of {all}")))
        }
        Phase::Failed => Err(Problem::not_ready("the state cannot be used; see the service's log")),
    }
}

/// Judge a document, or an array of them
///
/// Each is judged and remembered. An array is answered by an array of decisions in its order; they are durable when they are sent.
#[utoipa::path(post, path = "/v1/judge", params(Judging), request_body = OneOrMany, responses(
    (status = 200, description = "The decision, or an array of them: the same as a line of `pagesieve filter`", body = OneOrManyDecided),
    (status = 401, description = "The token is missing or wrong", body = Said),
    (status = 415, description = "The body is in a coding that is not read", body = Said),
    (status = 400, description = "The query is not what it must be", body = Said),
    (status = 413, description = "The body is too long, or has too many documents", body = Said),
    (status = 422, description = "A document is not what it must be; nothing was judged", body = Said),
    (status = 429, description = "The queue is full; nothing was judged", body = Said),
    (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
))]
pub(super) async fn judge(
    State(service): Shared,
    judging: Asked<Judging>,
    body: Body,
) -> Result<Response, Problem> {
    let Query(judging) = judging?;
    let bytes = body::read(body, service.options.limits.max_body).await?;
    let Documents { inputs, is_array } =
        Documents::parse(&bytes, service.options.limits.max_batch, service.times())?;
    drop(bytes);
    let room = service.room(inputs.len()).ok_or_else(Problem::busy)?;
    let decisions = service.judge_in(room, inputs, judging.dry).await?;
    let text = if is_array { format!("[{}]", decisions.join(",")) } else { decisions.concat() };
    Ok(json(text))
}

/// Judge documents as they come
///
/// The body has a document a line; the answer has a decision a line, in the same order, as soon as it is durable. A line that is no document
/// is answered by a line with `error`, and the next ones are judged. Both may stay open as long as there is something to judge.
#[utoipa::path(post, path = "/v1/judge.ndjson", params(Judging), request_body(content = Submitted, content_type = "application/x-ndjson"),
    responses(
        (status = 200, description = "A decision, or what is wrong, for each line", body = DecidedOrWrong, content_type = "application/x-ndjson"),
        (status = 400, description = "The query is not what it must be", body = Said),
        (status = 401, description = "The token is missing or wrong", body = Said),
        (status = 415, description = "The body is in a coding that is not read", body = Said),
        (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
    ))]
pub(super) async fn judge_lines(
    State(service): Shared,
    judging: Asked<Judging>,
    head: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let Query(judging) = judging?;
    let waits = head.contains_key(header::EXPECT);
    let answers = lines::answers(service, body, judging.dry, waits).await;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], answers).into_response())
}

/// Two documents to be compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair<'a> {
    /// A document as for `/v1/judge`.
    #[serde(borrow)]
    a: &'a RawValue,
    /// The one that comes after it.
    #[serde(borrow)]
    b: &'a RawValue,
}

/// Compare two documents
///
/// Says how the second would be judged after the first, whatever their ids, by the service's options, and in how much the two differ. Nothing is remembered.
#[utoipa::path(post, path = "/v1/explain", request_body = schema::Pair, responses(
    (status = 200, description = "How they compare", body = Explanation),
    (status = 400, description = "It takes no query", body = Said),
    (status = 401, description = "The token is missing or wrong", body = Said),
    (status = 415, description = "The body is in a coding that is not read", body = Said),
    (status = 413, description = "The body is too long", body = Said),
    (status = 422, description = "A document is not what it must be", body = Said),
    (status = 429, description = "The queue is full", body = Said),
    (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
))]
pub(super) async fn explain(
    State(service): Shared,
    query: Asked<NoQuery>,
    body: Body,
) -> Result<Json<Explanation>, Problem> {
    query?;
    let bytes = body::read(body, service.options.limits.max_body).await?;
    let pair: Pair<'_> = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::document(
            format!("the body must be {{\"a\": DOCUMENT, \"b\": DOCUMENT}}: {error}"),
            None,
        )
    })?;
    let parse = |place, text: &RawValue| {
        let document = read_document(text.get().as_bytes(), service.times());
        document.map_err(|error| Problem::document(error.to_string(), Some(place)))
    };
    let inputs = vec![parse(0, pair.a)?, parse(1, pair.b)?];
    let _room = service.room(inputs.len()).ok_or_else(Problem::busy)?;
    let prepared = service.prepare(inputs).await;
    let explained = judge::explain(&prepared, &service.options.filter);
    explained.map(Json).ok_or_else(|| Problem::document("the documents cannot be compared", None))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Looking {
    /// How many documents to list, at most 1000.
    #[param(default = 10, maximum = 1000)]
    limit: Option<usize>,
}

/// Find the nearest documents
///
/// Lists the unique documents of the window whose signatures differ least, and how the document would be judged. Compares it with all of
/// the window. Nothing is remembered.
#[utoipa::path(post, path = "/v1/lookup", params(Looking), request_body = Submitted, responses(
    (status = 200, description = "The nearest documents", body = Lookup),
    (status = 401, description = "The token is missing or wrong", body = Said),
    (status = 415, description = "The body is in a coding that is not read", body = Said),
    (status = 400, description = "The query is not what it must be", body = Said),
    (status = 413, description = "The body is too long", body = Said),
    (status = 422, description = "The document is not what it must be", body = Said),
    (status = 429, description = "The queue is full", body = Said),
    (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
))]
pub(super) async fn lookup(
    State(service): Shared,
    looking: Asked<Looking>,
    body: Body,
) -> Result<Response, Problem> {
    let Query(looking) = looking?;
    let bytes = body::read(body, service.options.limits.max_body).await?;
    let input = read_document(&bytes, service.times())
        .map_err(|error| Problem::document(error.to_string(), None))?;
    let room = service.room(1).ok_or_else(Problem::busy)?;
    let mut prepared = service.prepare(vec![input]).await;
    let document = prepared.pop().ok_or_else(Problem::busy)?;
    let limit = looking.limit.unwrap_or(10).min(1000);
    let found = service.judge.ask(move |filter| {
        let _room = room;
        judge::lookup(filter, &document, limit)
    });
    Ok(json(found.await?))
}

/// A document of the window
#[utoipa::path(get, path = "/v1/documents/{id}", params(("id" = String, Path, description = "The document's id")),
    responses(
        (status = 200, description = "Its decision", body = Decided),
        (status = 400, description = "It takes no query", body = Said),
        (status = 401, description = "The token is missing or wrong", body = Said),
        (status = 404, description = "There is no such document", body = Said),
        (status = 503, description = "The state cannot be read, or the window is being restored", body = Said),
    ))]
pub(super) async fn document(
    State(service): Shared,
    id: Result<Path<String>, PathRejection>,
    query: Asked<NoQuery>,
) -> Result<Response, Problem> {
    let Path(id) = id?;
    query?;
    let latest = held(&service, &id).await?.pop();
    latest.map(|latest| json(latest.decision)).ok_or_else(|| unknown(&id))
}

/// Remove a unique document: from now on nothing repeats it
#[utoipa::path(delete, path = "/v1/documents/{id}", params(("id" = String, Path, description = "The document's id")),
    responses(
        (status = 204, description = "It is removed, and all its versions"),
        (status = 400, description = "It takes no query", body = Said),
        (status = 401, description = "The token is missing or wrong", body = Said),
        (status = 404, description = "There is no such document", body = Said),
        (status = 409, description = "It is a duplicate", body = Said),
        (status = 503, description = "The state cannot be read, or the window is being restored", body = Said),
    ))]
pub(super) async fn remove(
    State(service): Shared,
    id: Result<Path<String>, PathRejection>,
    query: Asked<NoQuery>,
) -> Result<StatusCode, Problem> {
    let Path(id) = id?;
    query?;
    let all = held(&service, &id).await?;
    if all.is_empty() {
        return Err(unknown(&id));
    }
    let versions: Vec<_> = all.iter().map(|it| it.number).collect();
    if service.judge.ask(move |filter| filter.remove_versions(&versions)).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    let error = format!(
        "{id:?} is a duplicate: only unique documents are matched, so there is nothing to remove"
    );
    Err(Problem::new(StatusCode::CONFLICT, error))
}

async fn held(service: &Service, id: &str) -> Result<Vec<judge::Held>, Problem> {
    let found = judge::named(
        service.options.state.clone(),
        Identity::printed_as(id, service.preparation.urls()),
    )
    .await;
    found.map_err(|error| Problem::not_ready(format!("cannot read the state: {error}")))
}

fn unknown(id: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("no document {id:?} is in the window"))
}

/// What the filter holds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Stats {
    /// Unique documents in the window.
    documents: usize,
    /// The most that it can hold.
    capacity: u64,
    /// The documents judged since the state was created.
    judged: u64,
    /// Documents that are being prepared or judged.
    queued: i64,
    /// The version of the program.
    version: &'static str,
}

/// What the filter holds
#[utoipa::path(get, path = "/v1/stats", responses(
    (status = 200, description = "Counts", body = Stats),
    (status = 400, description = "It takes no query", body = Said),
    (status = 401, description = "The token is missing or wrong", body = Said),
    (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
))]
pub(super) async fn stats(
    State(service): Shared,
    query: Asked<NoQuery>,
) -> Result<Json<Stats>, Problem> {
    query?;
    let asked = service.judge.ask(|filter| Ok((filter.len(), filter.judged())));
    let (documents, judged) = asked.await?;
    Ok(Json(Stats {
        documents,
        capacity: service.options.filter.window.entries.get(),
        judged,
        queued: service.metrics.queued.get(),
        version: env!("CARGO_PKG_VERSION"),
    }))
}

/// Whether the process lives
#[utoipa::path(get, path = "/livez", security(()), responses((status = 200, description = "It lives", body = String, content_type = "text/plain")))]
pub(super) async fn livez() -> &'static str {
    "ok\n"
}

/// Whether documents can be judged
#[utoipa::path(get, path = "/readyz", security(()), responses(
    (status = 200, description = "Documents can be judged", body = String, content_type = "text/plain"),
    (status = 503, description = "The window is being restored, or the service is stopping", body = Said),
))]
pub(super) async fn readyz(State(service): Shared) -> Result<&'static str, Problem> {
    readiness(&service).map(|()| "ok\n")
}

/// Metrics for Prometheus
///
/// In the format `OpenMetrics`, or in the older format of Prometheus if `Accept` prefers that.
#[utoipa::path(get, path = "/metrics", responses(
    (status = 200, description = "Counts", content(
        (String = "text/plain"),
        (String = "application/openmetrics-text"),
    )),
    (status = 401, description = "The token is missing or wrong", body = Said),
))]
pub(super) async fn metrics(State(service): Shared, head: HeaderMap) -> Response {
    let accepted = head.get_all(header::ACCEPT).into_iter().filter_map(|it| it.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",");
    let open = quality(&accepted, "application/openmetrics-text");
    let (kind, text) = if open > 0.0 && open >= quality(&accepted, "text/plain") {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", service.metrics.text())
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", service.metrics.plain_text())
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// How much a client wants a type, from 0 to 1, by its `Accept` (RFC 9110): the most specific range that has the type says it.
fn quality(accepted: &str, kind: &str) -> f32 {
    if accepted.trim().is_empty() {
        return 1.0;
    }
    let all = &kind[..=kind.find('/').unwrap_or(0)];
    let ranges = accepted.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let specific = match parts.next()? {
            range if range.eq_ignore_ascii_case(kind) => 2,
            range if range.strip_suffix('*').is_some_and(|it| it.eq_ignore_ascii_case(all)) => 1,
            "*/*" => 0,
            _ => return None,
        };
        let quality = parts.find_map(|it| it.strip_prefix("q=")?.parse().ok());
        Some((specific, quality.unwrap_or(1.0_f32)))
    });
    let order = |a: &(u8, f32), b: &(u8, f32)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
    ranges.max_by(order).map_or(0.0, |(_, quality)| quality)
}

/// A response with this JSON.
fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
