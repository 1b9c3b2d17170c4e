//! Who may use the service, or see what runs: who has the token; and without one, who is on this machine.

use std::{net::IpAddr, sync::Arc};

use axum::{
    Router,
    extract::{Query, Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

/// The cookie that has the token.
const COOKIE: &str = "pagesieve=";

/// Whether what was given is the token. Hashes are compared in constant time.
pub(super) fn is_token(token: &str, given: &[u8]) -> bool {
    blake3::hash(given) == blake3::hash(token.as_bytes())
}

/// The token of an `Authorization` header. The name of the scheme is written in any case (RFC 9110).
pub(super) fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let header = headers.get(header::AUTHORIZATION)?.as_bytes();
    let (scheme, token) = header.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// Routes that a browser uses: with a token, by a cookie that opening `/?token=TOKEN` sets.
pub(crate) fn for_browsers(routes: Router, token: Option<&str>) -> Router {
    routes.route_layer(middleware::from_fn_with_state(token.map(Arc::from), allowed))
}

#[derive(Deserialize)]
struct Login {
    token: Option<String>,
}

/// Refuses who does not have the token; and, without one, pages of other sites whose name was made to lead here.
async fn allowed(
    State(token): State<Option<Arc<str>>>,
    Query(login): Query<Login>,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    let value =
        |name| headers.get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let Some(token) = token else {
        let host = value(header::HOST).unwrap_or_default();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if is_address || name == "localhost" {
            return next.run(request).await;
        }
        return (StatusCode::FORBIDDEN, "open it by its address\n").into_response();
    };
    if let Some(given) = login.token.filter(|given| is_token(&token, given.as_bytes())) {
        let cookie = format!("{COOKIE}{given}; HttpOnly; SameSite=Strict; Path=/");
        return ([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response();
    }
    let cookie = value(header::COOKIE)
        .and_then(|all| all.split("; ").find_map(|cookie| cookie.strip_prefix(COOKIE)));
    let given = bearer(&headers).or(cookie.map(str::as_bytes));
    if given.is_some_and(|given| is_token(&token, given)) {
        return next.run(request).await;
    }
    let help = "send the token: `Authorization: Bearer TOKEN`, or open /?token=TOKEN\n";
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Bearer")], help).into_response()
}
