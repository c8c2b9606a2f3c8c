//! The page: files that are part of the program, compressed once, under a name that changes with what they hold.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::HeaderMap;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use portcullis_wire::error::{Fault, Kind};
use sha2::{Digest as _, Sha256};

use super::response::refuse;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($name:literal $kind:expr,)*) => {
        /// Every file of the page, with its type.
        const FILES: &[(&str, &str, &[u8])] = &[$(($name, $kind, include_bytes!(concat!("../../page/", $name)))),*];
    };
}

files! {
    "api.js" SCRIPT,
    "devices.js" SCRIPT,
    "diff.js" SCRIPT,
    "dom.js" SCRIPT,
    "icon.svg" "image/svg+xml",
    "input.js" SCRIPT,
    "link.js" SCRIPT,
    "log.js" SCRIPT,
    "main.js" SCRIPT,
    "manifest.webmanifest" "application/manifest+json",
    "markdown.js" SCRIPT,
    "prompts.js" SCRIPT,
    "questions.js" SCRIPT,
    "session.js" SCRIPT,
    "sessions.js" SCRIPT,
    "start.js" SCRIPT,
    "state.js" SCRIPT,
    "style.css" "text/css; charset=utf-8",
    "words-zh.js" SCRIPT,
    "words.js" SCRIPT,
}

const INDEX: &str = include_str!("../../page/index.html");

/// No script but ours, nothing from elsewhere, in nobody's frame, and nothing that is text is ever run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

struct Served {
    kind: &'static str,
    plain: Bytes,
    packed: Bytes,
}

struct Assets {
    /// Names this state of the page in every address below `/assets/`.
    version: String,
    index: Served,
    files: Vec<(&'static str, Served)>,
}

fn assets() -> &'static Assets {
    static ASSETS: OnceLock<Assets> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let mut hash = Sha256::new();
        for (name, _, bytes) in FILES {
            hash.update(name);
            hash.update(bytes);
        }
        let digest = hash.finalize();
        let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let index = INDEX.replace("/assets/", &format!("/assets/{version}/"));
        let served = |kind, plain: Bytes| Served { kind, packed: pack(&plain), plain };
        let versioned = |name: &str, bytes: &'static [u8]| match name {
            // The only file that names others by their whole address.
            "manifest.webmanifest" => {
                String::from_utf8_lossy(bytes).replace("/assets/", &format!("/assets/{version}/")).into()
            }
            _ => Bytes::from_static(bytes),
        };
        Assets {
            files: FILES.iter().map(|(name, kind, bytes)| (*name, served(kind, versioned(name, bytes)))).collect(),
            index: served(HTML, index.into()),
            version,
        }
    })
}

fn pack(plain: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(plain).and_then(|()| encoder.finish());
    packed.map(Bytes::from).unwrap_or_default()
}

/// `GET /` of a browser. None for programs, which are shown how to use the gate.
pub(super) fn index(headers: &HeaderMap) -> Option<Response> {
    let accepts = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok());
    accepts.is_some_and(|accept| accept.contains("text/html")).then(|| {
        // Asked for each time: it names the version of everything else.
        answer(&assets().index, headers, "no-cache")
    })
}

/// `GET /assets/{version}/{file}`.
pub(super) async fn asset(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let assets = assets();
    let found = assets.files.iter().find(|(known, _)| *known == name && version == assets.version);
    match found {
        Some((_, served)) => answer(served, &headers, "public, max-age=31536000, immutable"),
        None => refuse(&Fault::new(Kind::NoSuchRoute, "the page has no such file")),
    }
}

fn answer(served: &Served, headers: &HeaderMap, caching: &'static str) -> Response {
    let encodings = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_packed = !served.packed.is_empty() && encodings.split(',').any(|name| name.trim().starts_with("gzip"));
    let fixed: [(HeaderName, &str); 7] = [
        (CONTENT_TYPE, served.kind),
        (CACHE_CONTROL, caching),
        (VARY, "Accept, Accept-Encoding"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let body = if is_packed { served.packed.clone() } else { served.plain.clone() };
    if is_packed { (fixed, [(CONTENT_ENCODING, "gzip")], body).into_response() } else { (fixed, body).into_response() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_names_is_there_and_all_of_it_is_small() {
        let names: Vec<&str> = FILES.iter().map(|(name, ..)| *name).collect();
        for (name, _, bytes) in FILES.iter().filter(|(name, ..)| name.ends_with(".js")) {
            let text = std::str::from_utf8(bytes).unwrap();
            for import in text.split("from \"./").skip(1) {
                let file = import.split('"').next().unwrap();
                assert!(names.contains(&file), "{name} imports {file}");
            }
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
        for place in INDEX.split("/assets/").skip(1) {
            assert!(names.contains(&place.split('"').next().unwrap()), "{place}");
        }
        let size: usize = assets().files.iter().map(|(_, served)| served.packed.len()).sum();
        assert!(size + assets().index.packed.len() < 100_000, "{size} bytes");
    }

    #[test]
    fn every_text_of_the_page_has_a_chinese_one() {
        let text = |wanted: &str| {
            let (_, _, bytes) = FILES.iter().find(|(name, ..)| *name == wanted).unwrap();
            std::str::from_utf8(bytes).unwrap()
        };
        let keys = |text: &str| -> std::collections::BTreeSet<String> {
            let table = text.split_once(" = {\n").unwrap().1.split_once("\n};").unwrap().0;
            let before_colon = table.split(": \"").map(|part| part.rsplit([' ', ',', '\n']).next().unwrap().to_owned());
            before_colon.filter(|key| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')).collect()
        };
        let (english, chinese) = (keys(text("words.js")), keys(text("words-zh.js")));
        assert!(english.len() > 80, "{english:?}");
        assert_eq!(english, chinese);
    }

    #[test]
    fn a_browser_is_served_the_page_and_a_program_is_not() {
        let headers = |accept: &'static str| HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
        let page = index(&headers("text/html,*/*;q=0.8")).unwrap();
        assert!(page.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().contains("frame-ancestors 'none'"));
        assert!(index(&headers("*/*")).is_none());
        assert!(index(&HeaderMap::new()).is_none());
    }
}
