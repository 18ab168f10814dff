//! The page: one file, put together from its parts inside of the binary, and the policy that lets
//! nothing else run on it.

use crate::auth::sha256;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::LazyLock;

/// The parts of the script, in order.
const SCRIPT: [&str; 9] = [
    include_str!("../page/script/state.js"),
    include_str!("../page/script/requests.js"),
    include_str!("../page/script/connection.js"),
    include_str!("../page/script/views.js"),
    include_str!("../page/script/loss.js"),
    include_str!("../page/script/coefficients.js"),
    include_str!("../page/script/calibration.js"),
    include_str!("../page/script/several.js"),
    include_str!("../page/script/start.js"),
];

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let style = include_str!("../page/style.css");
    include_str!("../page/index.html")
        .replace("<style></style>", &format!("<style>\n{style}</style>"))
        .replace("<script></script>", &format!("<script>\n{}</script>", SCRIPT.join("\n")))
});

/// Scripts and styles are allowed by their hashes.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = |tag| STANDARD.encode(sha256(element(&PAGE, tag).as_bytes()));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash("script"),
        hash("style")
    )
});

/// The page.
#[utoipa::path(get, path = "/", tag = "operation",
    responses((status = 200, description = "The page", body = String, content_type = "text/html")))]
pub async fn page() -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, POLICY.as_str())];
    (policy, [(header::REFERRER_POLICY, "no-referrer")], Html(PAGE.as_str())).into_response()
}

/// The text of the first element of a kind.
fn element<'a>(page: &'a str, tag: &str) -> &'a str {
    let open = format!("<{tag}>");
    let close = format!("</{tag}>");
    let text = page.split_once(&open).and_then(|(_, rest)| rest.split_once(&close));
    text.map_or("", |(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_one_script_and_one_style_and_asks_nobody() {
        for tag in ["script", "style"] {
            assert_eq!(PAGE.matches(&format!("<{tag}")).count(), 1, "{tag}");
            assert!(!element(&PAGE, tag).is_empty(), "{tag}");
        }
        for foreign in ["http://", "https://", " style=", " onclick=", "innerHTML"] {
            let found = PAGE.replace("http://www.w3.org/2000/svg", "").contains(foreign);
            assert!(!found, "{foreign}");
        }
    }
}
