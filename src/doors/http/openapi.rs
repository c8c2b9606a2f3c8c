//! `GET /api/openapi.json`: the API for programs. It tells nothing of this gate, so it needs no credentials.

use axum::response::{IntoResponse as _, Response};
use hyper::header::CONTENT_TYPE;

pub(super) async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], portcullis_wire::openapi::document().to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// Method and path of every `.route(…)` in the source: a router does not tell its routes.
    fn routes() -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for call in include_str!("mod.rs").split(".route(").skip(1) {
            let (path, rest) = call.trim_start().trim_start_matches('"').split_once('"').unwrap();
            // What follows the last route is not about routes any more.
            let handlers = rest.split(".fallback(").next().unwrap();
            for method in ["get", "post", "put", "delete", "patch", "any"] {
                let is_called = [format!(" {method}("), format!(".{method}("), format!(",{method}(")];
                if is_called.iter().any(|call| handlers.contains(call)) {
                    found.insert((method.to_owned(), path.to_owned()));
                }
            }
        }
        found
    }

    #[test]
    fn every_route_is_in_the_document_and_nothing_else_is() {
        let document = portcullis_wire::openapi::document();
        let paths = document["paths"].as_object().unwrap();
        let told: BTreeSet<(String, String)> = paths
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone()))
            })
            .collect();
        let routes = routes();
        assert!(routes.len() > 30, "{routes:?}");
        assert_eq!(told, routes);
    }
}
