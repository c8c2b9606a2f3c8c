//! A tool's result for people and models: texts as they are, everything else as a file that is named.

mod images;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use base64ct::{Base64, Encoding as _};
use serde_json::Value;

use self::images::{FittedImage, fitted};

/// Of a result this much is shown, unless `MAX_MCP_OUTPUT_TOKENS` says otherwise.
pub(crate) const USUAL_TOKENS: usize = 25_000;
/// Nobody outside counts tokens as the model does; this is near enough.
const LETTERS_OF_TOKEN: usize = 4;

/// What a server says of itself or of a tool, as much as is shown to people and models: some servers send whole manuals.
pub(crate) fn described(description: &str, longest: usize) -> String {
    match description.char_indices().nth(longest) {
        Some((end, _)) => format!("{}… [truncated]", &description[..end]),
        None => description.to_owned(),
    }
}

/// Where files of results are written, and how their names begin.
pub(crate) struct ResultFiles {
    folder: PathBuf,
    prefix: String,
    written: usize,
    /// All of a result that is cut is written there as well.
    has_whole: bool,
}

impl ResultFiles {
    pub(crate) fn new(folder: PathBuf, server: &str, tool: &str, now: u64) -> Self {
        let plain = |name: &str| -> String {
            name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).take(40).collect()
        };
        Self { folder, prefix: format!("mcp-{}-{}-{now}", plain(server), plain(tool)), written: 0, has_whole: true }
    }

    /// Where `ENABLE_MCP_LARGE_OUTPUT_FILES` says no, what is cut off is not kept.
    pub(crate) fn keeping_whole(self, wanted: Option<&str>) -> Self {
        let is_no = |word: &str| ["", "0", "false", "no", "off"].contains(&word.trim().to_ascii_lowercase().as_str());
        Self { has_whole: !wanted.is_some_and(is_no), ..self }
    }

    fn write(&mut self, bytes: &[u8], ending: &str) -> io::Result<PathBuf> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        self.written += 1;
        let path = self.folder.join(format!("{}-{}.{ending}", self.prefix, self.written));
        // Nobody else's file is written over.
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(bytes)?;
        Ok(path)
    }
}

/// The result in words. What is too long is cut, and all of it written to a file.
pub(crate) fn shaped(result: &Value, tool: &str, tokens: usize, files: &mut ResultFiles) -> io::Result<String> {
    let text = match result.get("structuredContent").filter(|content| !content.is_null()) {
        Some(content) => content.to_string(),
        None => {
            let parts = result.get("content").and_then(Value::as_array).into_iter().flatten();
            parts.map(|part| part_in_words(part, tool, files)).collect::<io::Result<Vec<_>>>()?.join("\n")
        }
    };
    let most = tokens.saturating_mul(LETTERS_OF_TOKEN);
    let Some((end, _)) = text.char_indices().nth(most) else { return Ok(text) };
    if !files.has_whole {
        let letters = text.chars().count();
        return Ok(format!("{}\n[truncated: the result has {letters} characters]", &text[..end]));
    }
    let ending = if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() { "json" } else { "txt" };
    let path = files.write(text.as_bytes(), ending)?;
    let (letters, lines) = (text.chars().count(), text.lines().count());
    let all = path.display();
    Ok(format!(
        "{}\n[truncated: the result has {letters} characters in {lines} lines; all of it is in {all}]",
        &text[..end]
    ))
}

fn part_in_words(part: &Value, tool: &str, files: &mut ResultFiles) -> io::Result<String> {
    let field = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
    Ok(match field("type") {
        "text" => field("text").to_owned(),
        "image" => image(tool, field("data"), field("mimeType"), files)?,
        "audio" => binary(&format!("[Audio from {tool}]"), field("data"), field("mimeType"), files)?,
        "resource_link" => {
            let description = field("description");
            let description = if description.is_empty() { String::new() } else { format!(" ({description})") };
            format!("[Resource link: {}] {}{description}", field("name"), field("uri"))
        }
        "resource" => {
            let resource = part.get("resource").cloned().unwrap_or_default();
            let field = |key: &str| resource.get(key).and_then(Value::as_str);
            let label = format!("[Resource from {tool} at {}]", field("uri").unwrap_or_default());
            match field("blob") {
                Some(blob) => binary(&label, blob, field("mimeType").unwrap_or_default(), files)?,
                None => format!("{label} {}", field("text").unwrap_or_default()),
            }
        }
        _ => part.to_string(),
    })
}

/// The image as it came, and beside it the one that a model can be shown, if that is another.
fn image(tool: &str, data: &str, kind: &str, files: &mut ResultFiles) -> io::Result<String> {
    let Some(bytes) = decoded(data) else { return Ok(format!("[Image from {tool}] {NO_BASE64}")) };
    let source = files.write(&bytes, ending(kind))?;
    let source = source.display();
    Ok(match fitted(&bytes) {
        FittedImage::AsItIs => format!("[Image: source: {source}]"),
        FittedImage::NotDecoded((width, height)) => {
            format!("[Image: source: {source}, original {width}x{height}, which cannot be made smaller]")
        }
        FittedImage::Smaller { bytes, ending, original, shown } => {
            let path = files.write(&bytes, ending)?;
            let map = match f64::from(original.0) / f64::from(shown.0) {
                1.0 => String::new(),
                factor => format!(" Multiply coordinates by {factor:.2} to map to original image."),
            };
            format!(
                "[Image: source: {source}, original {}x{}, displayed at {}x{} in {}.{map}]",
                original.0,
                original.1,
                shown.0,
                shown.1,
                path.display()
            )
        }
    })
}

fn binary(label: &str, data: &str, kind: &str, files: &mut ResultFiles) -> io::Result<String> {
    let Some(bytes) = decoded(data) else { return Ok(format!("{label} {NO_BASE64}")) };
    let path = files.write(&bytes, ending(kind))?;
    let kind = if kind.is_empty() { "application/octet-stream" } else { kind };
    Ok(format!("{label} Binary content ({kind}, {} bytes) saved to {}", bytes.len(), path.display()))
}

/// What is said of a part that cannot be read. The others are shown all the same.
const NO_BASE64: &str = "Binary content that is no base64";

fn decoded(data: &str) -> Option<Vec<u8>> {
    let plain: String = data.split_ascii_whitespace().collect();
    Base64::decode_vec(&plain).ok()
}

/// How the name of a file of this kind ends.
fn ending(kind: &str) -> &'static str {
    match kind.split(';').next().unwrap_or_default().trim() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/gzip" | "application/x-gzip" => "gz",
        "application/zip" => "zip",
        kind if kind.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// The folder in which results are kept.
pub(crate) fn folder(state: &Path) -> PathBuf {
    state.join("mcp-results")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(result: &Value, tokens: usize, expected: &expect_test::Expect) {
        let folder = tempfile::tempdir().unwrap();
        let mut files = ResultFiles::new(folder.path().join("deep"), "a/../b", "t", 7);
        let text = shaped(result, "t", tokens, &mut files).unwrap();
        expected.assert_eq(&text.replace(folder.path().to_str().unwrap(), "FOLDER"));
    }

    #[test]
    fn what_is_no_text_becomes_a_file_that_is_named() {
        let result = json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "image", "data": "?", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///x", "blob": "AAAA", "mimeType": "application/pdf"}},
            {"type": "resource", "resource": {"uri": "file:///y", "text": "inside"}},
            {"type": "resource_link", "name": "n", "uri": "file:///z", "description": "d"},
        ]});
        check(
            &result,
            USUAL_TOKENS,
            &expect_test::expect![[r#"
                hello
                [Image: source: FOLDER/deep/mcp-a----b-t-7-1.png]
                [Image from t] Binary content that is no base64
                [Audio from t] Binary content (audio/wav, 3 bytes) saved to FOLDER/deep/mcp-a----b-t-7-2.wav
                [Resource from t at file:///x] Binary content (application/pdf, 3 bytes) saved to FOLDER/deep/mcp-a----b-t-7-3.pdf
                [Resource from t at file:///y] inside
                [Resource link: n] file:///z (d)"#]],
        );
    }

    #[test]
    fn an_image_is_kept_and_named_with_the_one_that_a_model_can_be_shown() {
        let mut png = std::io::Cursor::new(vec![]);
        image::DynamicImage::new_rgb8(3000, 2600).write_to(&mut png, image::ImageFormat::Png).unwrap();
        let data = Base64::encode_string(&png.into_inner());
        let result = json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]});
        check(
            &result,
            USUAL_TOKENS,
            &expect_test::expect![[r#"
                [Image: source: FOLDER/deep/mcp-a----b-t-7-1.png, original 3000x2600, displayed at 2000x1733 in FOLDER/deep/mcp-a----b-t-7-2.png. Multiply coordinates by 1.50 to map to original image.]"#]],
        );
    }

    #[test]
    fn structured_content_wins_and_what_is_too_long_is_cut_at_a_letter() {
        let result = json!({"content": [{"type": "text", "text": "x"}], "structuredContent": {"sum": 3}});
        check(&result, USUAL_TOKENS, &expect_test::expect![[r#"{"sum":3}"#]]);
        let long = json!({"content": [{"type": "text", "text": "ééééééé"}]});
        check(
            &long,
            1,
            &expect_test::expect![[r#"
                éééé
                [truncated: the result has 7 characters in 1 lines; all of it is in FOLDER/deep/mcp-a----b-t-7-1.txt]"#]],
        );
        let folder = tempfile::tempdir().unwrap();
        let files = ResultFiles::new(folder.path().to_owned(), "s", "t", 7);
        let cut = shaped(&long, "t", 1, &mut files.keeping_whole(Some("false"))).unwrap();
        assert_eq!(cut, "éééé\n[truncated: the result has 7 characters]");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file was wanted");
    }
}
