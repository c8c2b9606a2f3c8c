//! Variables that programs take commands and code from.

/// Variables whose value is a command that something runs.
const COMMANDS: &str = "AWS_PAGER BAT_PAGER BASH_ENV BROWSER CVS_RSH DELTA_PAGER EDITOR ENV FCEDIT FZF_DEFAULT_COMMAND \
    GH_BROWSER GH_EDITOR GH_PAGER GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR \
    GIT_SSH GIT_SSH_COMMAND GNUMAKEFLAGS HGEDITOR KUBE_EDITOR LESSCLOSE LESSOPEN LD_AUDIT LD_PRELOAD \
    DYLD_INSERT_LIBRARIES MAKEFLAGS MANPAGER MFLAGS NODE_OPTIONS PAGER PERL5DB PERL5OPT PROMPT_COMMAND PS0 PS1 PS2 PS4 \
    PSQL_EDITOR PSQL_PAGER PYTHONBREAKPOINT PYTHONSTARTUP RSYNC_RSH RUBYOPT RUSTC_WORKSPACE_WRAPPER RUSTC_WRAPPER SHELL \
    SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR SVN_EDITOR SVN_SSH SYSTEMD_PAGER TAR_OPTIONS VISUAL";

/// Variables that name a program, or options that may, and hold other things from day to day.
const PERHAPS: &str = "CARGO CARGO_BUILD_RUSTC CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER \
    CARGO_BUILD_RUSTDOC CCACHE_PREFIX CCACHE_PREFIX_CPP CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER CVSEDITOR \
    EXINIT FZF_CTRL_T_COMMAND FZF_DEFAULT_OPTS GOFLAGS JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS NPM_CONFIG_SCRIPT_SHELL RUSTC \
    RUSTDOC RUSTFMT VIMINIT ZIPOPT _JAVA_OPTIONS npm_config_editor npm_config_script_shell npm_config_shell";

/// Whether something may run what a variable of this name says.
pub(crate) fn is_command(name: &str) -> bool {
    let begins = ["BASH_FUNC_", "CARGO_ALIAS_", "GIT_CONFIG"].iter().any(|begin| name.starts_with(begin));
    let ends = name.starts_with("CARGO_TARGET_") && (name.ends_with("_RUNNER") || name.ends_with("_LINKER"));
    begins || ends || COMMANDS.split_whitespace().any(|known| known == name)
}

/// Whether something may run a value that nobody can read, in a variable of this name.
pub(crate) fn may_be_command(name: &str) -> bool {
    is_command(name) || PERHAPS.split_whitespace().any(|known| known == name)
}
