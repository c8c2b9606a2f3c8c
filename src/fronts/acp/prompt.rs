//! What a person says in the editor, in the form that Claude Code takes: text, images, and what they point at.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ResourceLink, TextResourceContents,
};
use portcullis_wire::front::PromptWords;
use serde_json::{Value, json};

/// The words of a prompt. What is quoted from files stands behind them, each part as a context of its own.
pub(super) fn words(blocks: Vec<ContentBlock>, uuid: String) -> Result<PromptWords, Error> {
    let (mut text, mut more) = (String::new(), vec![]);
    for block in blocks {
        match block {
            ContentBlock::Text(said) => text.push_str(&said.text),
            ContentBlock::ResourceLink(link) => text.push_str(&link_in_words(&link)),
            ContentBlock::Resource(EmbeddedResource { resource, .. }) => match resource {
                EmbeddedResourceResource::TextResourceContents(contents) => {
                    text.push_str(&named(&contents.uri));
                    more.push(context(&contents));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => text.push_str(&named(&blob.uri)),
                _ => return Err(not_taken("a resource of this kind")),
            },
            ContentBlock::Image(image) => more.push(image_block(&image.mime_type, &image.data)),
            ContentBlock::Audio(_) => return Err(not_taken("audio")),
            _ => return Err(not_taken("content of this kind")),
        }
    }
    if text.trim().is_empty() && more.is_empty() {
        return Err(not_taken("an empty prompt"));
    }
    Ok(PromptWords { text, blocks: more, uuid: Some(uuid) })
}

fn not_taken(what: &str) -> Error {
    Error::new(-32602, format!("{what} cannot be sent to Claude Code"))
}

fn image_block(kind: &str, data: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})
}

/// A file is named as Claude Code names files that a person points at; anything else by its address.
fn named(uri: &str) -> String {
    match uri.strip_prefix("file://") {
        Some(path) => format!("[@{}]({uri})", path.rsplit('/').next().unwrap_or(path)),
        None => uri.to_owned(),
    }
}

fn link_in_words(link: &ResourceLink) -> String {
    match link.uri.strip_prefix("file://") {
        Some(_) => format!("[@{}]({})", link.name, link.uri),
        None => link.uri.clone(),
    }
}

fn context(contents: &TextResourceContents) -> Value {
    let text = format!("\n<context ref=\"{}\">\n{}\n</context>", contents.uri.replace('"', "%22"), contents.text);
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::PromptRequest;

    fn read(blocks: &Value) -> Result<PromptWords, Error> {
        let request: PromptRequest = serde_json::from_value(json!({"sessionId": "s", "prompt": blocks})).unwrap();
        words(request.prompt, "u".to_owned())
    }

    #[test]
    fn text_links_context_and_images_reach_the_model_in_their_order() {
        let said = read(&json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///src/a.rs", "name": "a.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource", "resource": {"uri": "file:///src/b.rs", "text": "fn b() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "AAAA"},
        ]))
        .unwrap();
        assert_eq!(said.text, "Look at [@a.rs](file:///src/a.rs) and [@b.rs](file:///src/b.rs)");
        assert_eq!(
            said.blocks,
            [
                json!({"type": "text", "text": "\n<context ref=\"file:///src/b.rs\">\nfn b() {}\n</context>"}),
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}),
            ]
        );
        assert!(read(&json!([])).is_err() && read(&json!([{"type": "text", "text": " "}])).is_err());
    }
}
