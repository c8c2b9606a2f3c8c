//! Lines that a person copies into another terminal to talk to the gate.

use portcullis_wire::api::Status;

use super::shell;

/// `curl` to the gate that runs, with the credential it takes. `flags` and `path` are written as they are.
pub(super) fn line(status: &Status, flags: &str, path: &str) -> String {
    let Some(address) = &status.listen else {
        let socket = shell::word(&status.socket);
        return format!("curl {flags} --unix-socket {socket} {}", shell::word(&format!("http://localhost{path}")));
    };
    let credential = match (&status.dev_sender, &status.token_file) {
        (Some(dev), _) => format!("X-Sender: {dev}"),
        (None, Some(file)) => format!("Authorization: Bearer $(cat {})", shell::word(file)),
        (None, None) => "Authorization: Bearer $PORTCULLIS_TOKEN".to_owned(),
    };
    format!("curl {flags} -H \"{credential}\" {}", shell::word(&format!("http://{address}{path}")))
}
