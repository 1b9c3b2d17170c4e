//! Error responses.

use axum::{
    Json,
    extract::rejection::QueryRejection,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::judge::Gone;

/// Seconds after which a client may ask again.
const LATER: HeaderValue = HeaderValue::from_static("1");

/// An answer that is no success.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    said: Said,
}

/// What was wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Said {
    /// What was wrong, and what to do.
    error: String,
    /// The place of the document in the array, from 0, if the request has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, said: Said { error: error.into(), document: None } }
    }

    /// A document is not what it must be.
    pub(super) fn document(error: impl Into<String>, place: Option<usize>) -> Self {
        let said = Said { error: error.into(), document: place };
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, said }
    }

    pub(super) fn busy() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "the queue is full: nothing of this request was judged; send it again in a second",
        )
    }

    pub(super) fn not_ready(error: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error)
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejected: QueryRejection) -> Self {
        Self::new(StatusCode::BAD_REQUEST, rejected.body_text())
    }
}

impl From<Gone> for Problem {
    fn from(Gone: Gone) -> Self {
        Self::not_ready(
            "the state cannot be written, so nothing of this request is durable; see the service's log",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let again = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
        let may_ask_again = again.contains(&self.status);
        let mut response = (self.status, Json(self.said)).into_response();
        if may_ask_again {
            response.headers_mut().insert(RETRY_AFTER, LATER);
        }
        response
    }
}
