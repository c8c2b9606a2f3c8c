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
const INDEX: &str = "index.html";
const WORKER: &str = "worker.js";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! files {
    ($($name:literal $kind:expr,)*) => {
        /// Every file of the page, with its type.
        const FILES: &[(&str, &str)] = &[$(($name, $kind)),*];

        #[cfg(not(debug_assertions))]
        fn read(wanted: &str) -> Bytes {
            match wanted {
                $($name => Bytes::from_static(include_bytes!(concat!("../../page/", $name))),)*
                _ => Bytes::new(),
            }
        }
    };
}

/// In a debug build the files are those of the checkout, so that a change to the page needs no build.
#[cfg(debug_assertions)]
fn read(wanted: &str) -> Bytes {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page").join(wanted))
        .unwrap_or_default()
        .into()
}

files! {
    "api.js" SCRIPT,
    "composer.js" SCRIPT,
    "conversation.js" SCRIPT,
    "devices.js" SCRIPT,
    "diff.js" SCRIPT,
    "dom.js" SCRIPT,
    "ending.js" SCRIPT,
    "errors-zh.js" SCRIPT,
    "icon.png" "image/png",
    "icon.svg" "image/svg+xml",
    "index.html" HTML,
    "input.js" SCRIPT,
    "led.js" SCRIPT,
    "letters.js" SCRIPT,
    "link.js" SCRIPT,
    "log.js" SCRIPT,
    "main.js" SCRIPT,
    "manifest.webmanifest" "application/manifest+json",
    "markdown.js" SCRIPT,
    "mcp.js" SCRIPT,
    "modes.js" SCRIPT,
    "muted.js" SCRIPT,
    "newlink.js" SCRIPT,
    "notify.js" SCRIPT,
    "parts.js" SCRIPT,
    "people.js" SCRIPT,
    "phrases-zh.js" SCRIPT,
    "pictures.js" SCRIPT,
    "pixels.js" SCRIPT,
    "place.js" SCRIPT,
    "prompts.js" SCRIPT,
    "push.js" SCRIPT,
    "questions.js" SCRIPT,
    "rules.js" SCRIPT,
    "said.js" SCRIPT,
    "sentences-zh.js" SCRIPT,
    "servers.js" SCRIPT,
    "session.js" SCRIPT,
    "sessions.js" SCRIPT,
    "sight.js" SCRIPT,
    "start.js" SCRIPT,
    "state.js" SCRIPT,
    "steady.js" SCRIPT,
    "stream.js" SCRIPT,
    "style.css" "text/css; charset=utf-8",
    "waiting.js" SCRIPT,
    "whole.js" SCRIPT,
    "words-zh.js" SCRIPT,
    "words.js" SCRIPT,
    "worker.js" SCRIPT,
}

/// A file for the browser: comments are for whoever reads the sources. Whole lines alone are left out, and stay as empty ones,
/// so that an error names the line of the sources.
fn without_comments(text: &str) -> String {
    let mut is_inside = false;
    let kept = |line| {
        let words = str::trim(line);
        let begins = words == "/**";
        let is_comment =
            is_inside || begins || words.starts_with("//") || words.starts_with("/*") && words.ends_with("*/");
        is_inside = (is_inside || begins) && !words.ends_with("*/");
        if is_comment { "" } else { line }
    };
    text.lines().map(kept).collect::<Vec<_>>().join("\n")
}

/// No script but ours, pictures from memory, nothing from elsewhere, in nobody's frame, and nothing that is text is ever run.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types portcullis";

struct Served {
    kind: &'static str,
    plain: Bytes,
    packed: Bytes,
}

struct Assets {
    /// Names this state of the page in every address below `/assets/`.
    version: String,
    files: Vec<(&'static str, Served)>,
}

fn assets() -> &'static Assets {
    static ASSETS: OnceLock<Assets> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let mut hash = Sha256::new();
        for (name, _) in FILES {
            hash.update(name);
            hash.update(read(name));
        }
        let digest = hash.finalize();
        let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let versioned = |name: &str| match name {
            // The files that name others by their whole address.
            INDEX | "manifest.webmanifest" => {
                String::from_utf8_lossy(&read(name)).replace("/assets/", &format!("/assets/{version}/")).into()
            }
            // It keeps all of them for when the gate is away.
            WORKER => {
                let names = FILES.iter().map(|(name, _)| *name).filter(|name| ![INDEX, WORKER].contains(name));
                let names = names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
                without_comments(&String::from_utf8_lossy(&read(name))).replace("\"FILES\"", &names).into()
            }
            _ if name.ends_with(".js") || name.ends_with(".css") => {
                without_comments(&String::from_utf8_lossy(&read(name))).into()
            }
            _ => read(name),
        };
        let served = |(name, kind): &(&'static str, &'static str)| {
            let plain: Bytes = versioned(name);
            (*name, Served { kind, packed: pack(&plain), plain })
        };
        Assets { files: FILES.iter().map(served).collect(), version }
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
    let wants_page = accepts.is_some_and(|accept| accept.contains("text/html"));
    let (_, page) = assets().files.iter().find(|(name, _)| *name == INDEX).filter(|_| wants_page)?;
    // Asked for each time: it names the version of everything else.
    Some(answer(page, headers, "no-cache"))
}

/// `GET /favicon.ico`: browsers ask for it by themselves, also where they show JSON.
pub(super) fn icon(headers: &HeaderMap) -> Option<Response> {
    let (_, icon) = assets().files.iter().find(|(name, _)| *name == "icon.png")?;
    Some(answer(icon, headers, "public, max-age=86400"))
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
    let fixed: [(HeaderName, &str); 8] = [
        (CONTENT_TYPE, served.kind),
        (CACHE_CONTROL, caching),
        (VARY, "Accept, Accept-Encoding"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        // The worker stands below `/assets/`, and serves the whole page.
        (HeaderName::from_static("service-worker-allowed"), "/"),
    ];
    let body = if is_packed { served.packed.clone() } else { served.plain.clone() };
    if is_packed { (fixed, [(CONTENT_ENCODING, "gzip")], body).into_response() } else { (fixed, body).into_response() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_that_the_page_names_is_there_and_all_of_it_is_small() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let mut there: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        there.sort_unstable();
        let mut names: Vec<&str> = FILES.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        assert_eq!(names, there);
        for (name, _) in FILES.iter().filter(|(name, _)| name.ends_with(".js")) {
            let text = text(name);
            assert!((5..=300).contains(&text.lines().count()), "{name} has {} lines", text.lines().count());
            for import in text.split("from \"./").skip(1) {
                let file = import.split('"').next().unwrap();
                assert!(names.contains(&file), "{name} imports {file}");
            }
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
        for place in text(INDEX).split("/assets/").skip(1) {
            assert!(names.contains(&place.split('"').next().unwrap()), "{place}");
        }
        let size: usize = assets().files.iter().map(|(_, served)| served.packed.len()).sum();
        assert!(size < 100_000, "{size} bytes");
    }

    #[test]
    fn comments_are_not_sent_and_lines_keep_their_number() {
        let source = "// of the file\n\n/**\n * of f\n */\nconst f = 1; // stays\n  /** one line */\n  const g = `//`;\n/* css */\na { }";
        assert_eq!(without_comments(source), "\n\n\n\n\nconst f = 1; // stays\n\n  const g = `//`;\n\na { }");
        for (name, served) in assets().files.iter().filter(|(name, _)| name.ends_with(".js") || name.ends_with(".css"))
        {
            let sent = String::from_utf8(served.plain.to_vec()).unwrap();
            assert_eq!(sent.lines().count(), text(name).lines().count(), "{name}");
        }
    }

    fn text(name: &str) -> String {
        String::from_utf8(read(name).to_vec()).unwrap()
    }

    #[test]
    fn every_text_of_the_page_has_a_chinese_one() {
        let keys = |text: &str| -> Vec<String> {
            let table = text.split_once(" = {\n").unwrap().1.split_once("\n};").unwrap().0;
            let before_colon = table.split(": \"").map(|part| part.rsplit([' ', ',', '\n']).next().unwrap().to_owned());
            let is_key = |key: &String| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let mut keys: Vec<String> = before_colon.filter(is_key).collect();
            keys.sort_unstable();
            // Of two with one name a script takes the last, and the first view says something else.
            let twice: Vec<_> = keys.windows(2).filter(|pair| pair[0] == pair[1]).collect();
            assert!(twice.is_empty(), "{twice:?}");
            keys
        };
        let (english, chinese) = (keys(&text("words.js")), keys(&text("words-zh.js")));
        assert!(english.len() > 80, "{english:?}");
        assert_eq!(english, chinese);
        let is_text = |name: &str| name.ends_with(".js") && !name.starts_with("words");
        let scripts: String = FILES.iter().filter(|(name, _)| is_text(name)).map(|(name, _)| text(name)).collect();
        for key in english {
            let is_named = scripts.contains(&format!("\"{key}\""));
            let kind = key.split_once('_').map(|(kind, _)| format!("`{kind}_${{"));
            assert!(is_named || kind.is_some_and(|kind| scripts.contains(&kind)), "no view says {key}");
        }
    }

    #[test]
    fn every_error_of_the_gate_has_a_chinese_text() {
        let text = text("errors-zh.js");
        for kind in portcullis_wire::error::Kind::ALL {
            let (number, _) = kind.entry();
            assert_eq!(text.matches(&format!(" {number}: \"")).count(), 1, "{number} {}", kind.name());
        }
        assert_eq!(text.matches(": \"").count(), portcullis_wire::error::Kind::ALL.len(), "and no other");
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
