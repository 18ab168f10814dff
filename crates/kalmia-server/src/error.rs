//! What a request is refused with: a status, a stable code, and where and why in words.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kalmia_data::{Error as DataError, Remedy};
use kalmia_model::{Error as ModelError, RowError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The result of every handler.
pub type Result<T> = std::result::Result<T, ApiError>;

/// What a client can act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The body, a parameter or the declaration cannot be read.
    BadRequest,
    /// A row has a value that its column cannot hold.
    BadRow,
    /// A row lacks a value.
    MissingValue,
    /// The rows lack a column.
    MissingColumn,
    /// No model has this name.
    UnknownModel,
    /// No row waits under this identifier.
    UnknownId,
    /// There is no such route.
    UnknownRoute,
    /// The route does not take this method.
    MethodNotAllowed,
    /// Another model has this name.
    ModelExists,
    /// No row was learned yet, so the columns are not known.
    ModelEmpty,
    /// The model's files are damaged.
    ModelDamaged,
    /// The key was used with another body.
    KeyReused,
    /// A request with this key is being learned.
    UnderWay,
    /// Too many requests wait.
    QueueFull,
    /// The body or the rows are more than the limit.
    TooLarge,
    /// The content type is none that is read.
    UnsupportedType,
    /// No token, or an unknown one.
    Unauthorized,
    /// The token's role does not allow it.
    Forbidden,
    /// The disk is full.
    DiskFull,
    /// The learner refuses the rows.
    Refused,
    /// A limit of the service.
    Limit,
    /// The service stops.
    ShuttingDown,
    /// A fault of the service.
    Internal,
}

impl Code {
    /// The status that goes with it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::BadRow
            | Self::MissingValue
            | Self::MissingColumn
            | Self::KeyReused
            | Self::Refused
            | Self::Limit => StatusCode::UNPROCESSABLE_ENTITY,
            Self::UnknownModel | Self::UnknownId | Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::ModelExists | Self::ModelEmpty | Self::ModelDamaged | Self::UnderWay => {
                StatusCode::CONFLICT
            }
            Self::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
            Self::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApiError {
    /// What a program decides by.
    pub code: Code,
    /// What is wrong and where.
    pub message: String,
    /// The row of the request at fault, from 1.
    pub row: Option<u64>,
    /// The column at fault.
    pub column: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// The body of every answer that is no success.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ApiError,
}

impl ApiError {
    /// An error that is no row's fault.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), row: None, column: None, hint: None }
    }

    /// The same, with what to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A fault of the service. The cause goes to the log, not to the client.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        crate::log::error(&format!("internal error: {cause}"));
        Self::new(Code::Internal, "the service failed; its log says why")
    }

    /// The service is about to stop.
    pub fn shutting_down() -> Self {
        Self::new(Code::ShuttingDown, "the service is stopping").hint("try again in some seconds")
    }

    /// No model has this name.
    pub fn unknown_model(name: &str) -> Self {
        Self::new(Code::UnknownModel, format!("there is no model `{name}`"))
            .hint("PUT /v1/models/{name} creates one, GET /v1/models lists them")
    }

    /// The text without the values of rows, for logs and for the page. Readers quote what they
    /// cannot read, so the messages of some codes are replaced as a whole.
    pub fn without_values(&self) -> String {
        let Some(summary) = self.code.summary() else { return self.message.clone() };
        let row = self.row.map_or_else(String::new, |row| format!(" in row {row}"));
        let column =
            self.column.as_ref().map_or_else(String::new, |name| format!(", column `{name}`"));
        format!("{summary}{row}{column}")
    }

    /// The answer as it is sent and stored.
    pub fn to_json(&self) -> String {
        // plain data, which JSON always holds
        serde_json::to_string(&ErrorBody { error: self.clone() }).unwrap_or_default()
    }
}

impl Code {
    /// In words, without any value; `None` if the messages of this code never quote a row.
    fn summary(self) -> Option<&'static str> {
        match self {
            Self::BadRequest => Some("a body or a parameter that cannot be read"),
            Self::BadRow => Some("a value that its column cannot hold"),
            Self::MissingValue => Some("a missing value"),
            Self::MissingColumn => Some("a missing column"),
            Self::UnknownId => Some("no row waits under an id"),
            Self::Refused => Some("a row that the learner refuses"),
            _ => None,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = self.code;
        let mut response = (code.status(), Json(ErrorBody { error: self })).into_response();
        let headers = response.headers_mut();
        match code {
            Code::QueueFull | Code::UnderWay | Code::ShuttingDown | Code::DiskFull => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Code::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response.extensions_mut().insert(code);
        response
    }
}

impl From<DataError> for ApiError {
    fn from(error: DataError) -> Self {
        let code = match &error {
            DataError::MissingValue { .. } => Code::MissingValue,
            DataError::NoColumn { .. } => Code::MissingColumn,
            DataError::TooManyRows { .. } => Code::TooLarge,
            DataError::TooManyFeatures { .. } => Code::Limit,
            DataError::Value { .. } | DataError::Ragged { .. } => Code::BadRow,
            _ => Code::BadRequest,
        };
        let column = match &error {
            DataError::NoColumn { name, .. } => Some(name.clone()),
            DataError::MissingValue { column, .. }
            | DataError::Value { column, .. }
            | DataError::Column { column, .. }
            | DataError::TooManyFeatures { column, .. } => Some(column.clone()),
            _ => None,
        };
        Self {
            code,
            row: error.location().map(|at| at.row),
            column,
            hint: error.remedy().map(hint),
            message: error.to_string(),
        }
    }
}

/// A remedy in terms of a declaration.
fn hint(remedy: Remedy<'_>) -> String {
    match remedy {
        Remedy::NameTarget => "declare \"target\"".into(),
        Remedy::ChooseColumns => "declare \"features\", or a larger \"max_features\"".into(),
        Remedy::FewerFeatures { column } => {
            format!("declare the model with \"exclude\": [\"{column}\"], or with \"hash\"")
        }
        Remedy::DescribeFormat => "give every row the model's columns; GET the model lists them \
                                   as coefficients"
            .into(),
        Remedy::MissingPolicy => {
            "send a value, or declare the model with \"missing\": \"mean\" or \"skip\"".into()
        }
        Remedy::Categorical { column } => {
            format!("send numbers, or declare \"columns\": {{\"{column}\": \"category\"}}")
        }
        Remedy::Exclude { column } => format!("declare \"exclude\": [\"{column}\"]"),
        Remedy::DecimalComma => "send numbers with a decimal point".into(),
        Remedy::MissingText { value } | Remedy::MissingNumber { value } => {
            format!("declare \"na_values\": [\"{value}\"]")
        }
        Remedy::BadRows => "send rows with a value per column".into(),
        Remedy::NumberTarget { .. } => {
            "send a number; for classes declare \"family\": \"categorical\"".into()
        }
        Remedy::Positive { .. } | Remedy::SingleLabel { .. } => {
            "declare \"positive\", the label that counts as 1".into()
        }
        Remedy::SeveralClasses { .. } => {
            "declare \"family\": \"categorical\" for a target of several classes".into()
        }
        Remedy::Levels { .. } => "declare \"classes\", all levels, the lowest first".into(),
        _ => "send other rows".into(),
    }
}

impl From<Box<RowError>> for ApiError {
    fn from(error: Box<RowError>) -> Self {
        let column = match &error.cause {
            kalmia::Error::Target { .. } => Some(error.target.clone()),
            _ => error.feature.clone(),
        };
        Self {
            code: Code::Refused,
            row: Some(error.at.row),
            column,
            hint: None,
            message: error.to_string(),
        }
    }
}

impl From<ModelError> for ApiError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Data(error) => error.into(),
            ModelError::Row(error) => error.into(),
            ModelError::Memory { .. } => Self::new(Code::Limit, error.to_string())
                .hint("declare fewer columns, or \"hash\", or free memory on the machine"),
            ModelError::Learner(cause) => Self::new(Code::Refused, cause.to_string()),
            ModelError::NoClasses => Self::new(Code::ModelEmpty, error.to_string())
                .hint("learn rows first, or declare the model with \"classes\""),
            other => Self::new(Code::BadRequest, other.to_string()),
        }
    }
}
