//! Signing in: Claude Code does it itself, in a terminal.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    AuthMethod, AuthMethodAgent, AuthMethodId, AuthMethodTerminal, ClientCapabilities,
};

use crate::agents::claude::process::find;
use crate::config::environment;
use crate::failure::Failure;

/// Claude Code answers at once whether someone is signed in.
const TIMEOUT: Duration = Duration::from_secs(30);

/// In a terminal of the editor, and in one of the person's own.
const IN_EDITOR: &str = "claude-login";
const ELSEWHERE: &str = "claude-login-elsewhere";

/// Whether this is one of the ways to sign in.
pub(super) fn is_method(method: &AuthMethodId) -> bool {
    [IN_EDITOR, ELSEWHERE].contains(&&*method.0)
}

/// How someone can sign in. Only an editor with terminals can run it there.
pub(super) fn methods(client: &ClientCapabilities) -> Vec<AuthMethod> {
    let about = "Claude Code opens a browser".to_owned();
    let name = "Sign in to Claude";
    match client.auth.terminal {
        true => {
            let method = AuthMethodTerminal::new(IN_EDITOR, name).description(about);
            vec![AuthMethod::Terminal(method.args(vec!["--login".to_owned()]))]
        }
        false => {
            let about = "Run `claude auth login` in a terminal, and try again".to_owned();
            vec![AuthMethod::Agent(AuthMethodAgent::new(ELSEWHERE, name).description(about))]
        }
    }
}

/// Runs `claude auth WORD`; whether it says that all is well.
pub(super) async fn claude_auth(claude: &Path, word: &str) -> Result<(), Error> {
    let program = program(claude).map_err(|failure| Error::new(-32603, failure.to_string()))?;
    let mut command = tokio::process::Command::new(program);
    command.args(["auth", word]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(TIMEOUT, command.status()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(_)) => Err(Error::auth_required()),
        Ok(Err(error)) => Err(Error::new(-32603, format!("starting Claude Code: {error}"))),
        Err(_) => Err(Error::new(-32603, "Claude Code did not answer in time")),
    }
}

/// Becomes `claude auth login`, at the terminal that an editor opened for it. Returns only where that is not possible.
pub(crate) fn sign_in(claude: &Path) -> anyhow::Error {
    match program(claude) {
        Ok(program) => std::process::Command::new(program).args(["auth", "login"]).exec().into(),
        Err(failure) => failure.into(),
    }
}

fn program(claude: &Path) -> Result<PathBuf, Failure> {
    find(claude, environment("PATH")).ok_or_else(|| {
        let hint = "install it, or say where it is: --claude PATH";
        Failure::new(format!("Claude Code was not found: {}", claude.display()), hint)
    })
}
