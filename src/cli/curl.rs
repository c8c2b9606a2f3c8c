//! Lines that a person copies into another terminal to talk to the gate.

use portcullis_core::shell_word;
use portcullis_wire::api::Status;

/// `curl` to the gate that runs, with the credential it takes. `flags` and `path` are written as they are.
pub(super) fn line(status: &Status, flags: &str, path: &str) -> String {
    let Some(address) = &status.listen else {
        let socket = shell_word(&status.socket);
        return format!("curl {flags} --unix-socket {socket} {}", shell_word(&format!("http://localhost{path}")));
    };
    let credential = match (&status.dev_sender, &status.token_file) {
        (Some(dev), _) => format!("X-Sender: {dev}"),
        (None, Some(file)) => format!("Authorization: Bearer $(cat {})", shell_word(file)),
        (None, None) => "Authorization: Bearer $PORTCULLIS_TOKEN".to_owned(),
    };
    format!("curl {flags} -H \"{credential}\" {}", shell_word(&format!("http://{address}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_comes_out_of_the_shell_as_it_went_in() {
        for text in ["/usr/bin/x", "", "two words", "it's", "$HOME `id` \"x\" \\ *", "a\\'; echo b #", "ä\n"] {
            let script = format!("printf %s {}", shell_word(text));
            let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
        }
    }
}
