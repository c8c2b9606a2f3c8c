//! Promises about the configuration as a whole: who beats whom, what errors say, and what no file can do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::{Expect, expect};
use portcullis_wire::api::SetModeView;
use proptest::prelude::*;

use super::error::tests::report;
use super::paths::tests::paths_under;
use super::read::{Flag, Layers};
use super::setting::Setting;
use super::settings::SETTINGS;
use super::table::LimitsTable;
use super::*;
use crate::failure::Failure;

/// Loads from this file and these variables, in a folder of its own.
fn load(file: impl AsRef<[u8]>, variables: &[(&str, &str)]) -> Result<Config, Failure> {
    load_with(file, variables, &[])
}

fn load_with(file: impl AsRef<[u8]>, variables: &[(&str, &str)], flags: &[Flag<'_>]) -> Result<Config, Failure> {
    let home = tempfile::tempdir().unwrap();
    let paths = paths_under(home.path());
    fs::write(&paths.config_file, file).unwrap();
    let find = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
    Config::load(&paths, &find, flags)
}

/// What the command line would say, without the folder of the test.
fn check_error(file: &str, variables: &[(&str, &str)], expected: &Expect) {
    let shown = report(&load(file, variables).unwrap_err());
    let lines = shown.lines().map(|line| match line.split_once("configuration from ") {
        Some((doing, _)) => format!("{doing}configuration from FILE\n"),
        None => format!("{line}\n"),
    });
    expected.assert_eq(&lines.collect::<String>());
}

fn addr(text: &str) -> Listen {
    Listen::Addr(text.parse().unwrap())
}

#[test]
fn a_missing_file_and_an_empty_one_mean_the_defaults() {
    let home = tempfile::tempdir().unwrap();
    let missing = Config::load(&paths_under(home.path()), &|_| None, &[]).unwrap();
    let empty = load("", &[]).unwrap();
    let defaults = format!("{:?}", Config::default());
    assert_eq!([format!("{missing:?}"), format!("{empty:?}")], [defaults.clone(), defaults]);
}

#[test]
fn the_file_beats_the_default() {
    let config =
        load("listen = 'off'\ndurability = 'process'\nmax_context = 0\n[limits]\nbody = 2048\nidle_seconds = 5", &[])
            .unwrap();
    assert_eq!((config.listen, config.durability, config.max_context), (Listen::Off, Durability::Process, None));
    let expected = LimitsTable { body: 2048, idle_time: Duration::from_secs(5), ..LimitsTable::default() };
    assert_eq!(config.limits, expected);
}

#[test]
fn the_environment_beats_the_file() {
    let file = "listen = 'off'\ndurability = 'power'\nmax_context = 1";
    let variables = [
        ("PORTCULLIS_LISTEN", "[::1]:0"),
        ("PORTCULLIS_DURABILITY", "process"),
        ("PORTCULLIS_MAX_CONTEXT", "0"),
        ("PORTCULLIS_TOKEN", "chosen-by-the-owner"),
    ];
    let config = load(file, &variables).unwrap();
    assert_eq!((config.listen, config.durability, config.max_context), (addr("[::1]:0"), Durability::Process, None));
    assert_eq!(config.token.unwrap().expose(), "chosen-by-the-owner");
}

#[test]
fn a_flag_beats_the_environment() {
    let variables = [("PORTCULLIS_LISTEN", "127.0.0.1:1"), ("PORTCULLIS_TOKEN", "chosen-by-the-owner")];
    let config = load_with("max_context = 1", &variables, &[("listen", "127.0.0.1:2")]).unwrap();
    assert_eq!((config.listen, config.max_context), (addr("127.0.0.1:2"), Some(1)));
    assert!(config.token.is_some());
    let shown = report(&load_with("", &[], &[("max_context", "much")]).unwrap_err());
    assert!(shown.starts_with("error: reading --max-context from the command line"), "{shown}");
    assert!(load_with("", &[], &[("token", "chosen-by-the-owner")]).is_err(), "argv is seen by everybody");
}

#[test]
fn a_bad_file_beats_a_good_variable() {
    assert!(load("listen = 'nowhere'", &[("PORTCULLIS_LISTEN", "off")]).is_err());
}

#[test]
fn an_unknown_key_names_the_nearest_and_its_line() {
    check_error(
        "listen = 'off'\n\n[limits]\nconections = 5\nbodi = 1\n",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 4: unknown key "limits.conections"
              and: line 5: unknown key "limits.bodi"
              hint: did you mean limits.connections?
        "#]],
    );
    check_error(
        "# nothing\n[limit]\n",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 2: unknown key "limit"
              hint: did you mean limits?
        "#]],
    );
}

#[test]
fn a_wrong_value_says_what_would_be_right() {
    check_error(
        "\ndurability = 'maybe'",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 2: durability: unknown variant `maybe`, expected `process` or `power`
              hint: durability is "process" or "power"
        "#]],
    );
    check_error(
        "durability = power",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 1: string values must be quoted, expected literal string
              hint: the file is TOML: lines such as durability = "power", with text in quotes
        "#]],
    );
    check_error(
        "[limits]\nrate = -1",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 2: limits.rate: -1 is out of range
              hint: limits.rate is a whole number of events from 1 to 1000000
        "#]],
    );
    check_error(
        "limits = 3",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 1: limits is a table
              hint: write [limits] on a line of its own, and its keys below
        "#]],
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    for (file, what) in [
        ("listen = 8788", "listen: invalid type: integer `8788`, expected a string"),
        ("listen = true", "listen: invalid type: boolean `true`, expected a string"),
        ("[listen]", "listen: invalid type: table, expected a string"),
        ("max_context = '20000'", "max_context: invalid type: string \"20000\", expected a whole number"),
        ("max_context = 1.5", "max_context: invalid type: floating point `1.5`, expected a whole number"),
        ("max_context = [1]", "max_context: invalid type: list, expected a whole number"),
        ("hooks.must_reply = 1", "hooks.must_reply: invalid type: integer `1`, expected a list"),
        ("hooks.http = 1", "hooks.http: it is neither true nor false"),
        ("start.folders = ['work']", "start.folders: \"work\" is not an absolute path"),
        ("claude = ''", "claude: the name is empty"),
        ("permission_mode = 'yolo'", "permission_mode: unknown mode \"yolo\""),
        ("coalesce.ci = 0", "coalesce.ci: 0 is out of range"),
        ("coalesce.ci = 'soon'", "coalesce.ci: invalid type: string \"soon\", expected a whole number"),
        ("projects.\"/a\".mode = 'yolo'", "projects.\"/a\".mode: unknown mode \"yolo\""),
        ("projects.\"/a\".allow = ['Bash(']", "projects.\"/a\".allow: \"Bash(\" is no rule: the bracket is not closed"),
        ("projects.\"/a\".alow = []", "unknown key \"projects.\\\"/a\\\".alow\""),
        ("projects.\"/a\" = 1", "projects.\"/a\" is a table"),
        ("[[limits]]", "limits is a table"),
    ] {
        let shown = report(&load(file, &[]).unwrap_err());
        assert!(shown.contains(&format!("line 1: {what}\n")), "{shown}");
    }
}

#[test]
fn a_bad_variable_is_named() {
    check_error(
        "",
        &[("PORTCULLIS_MAX_CONTEXT", "20 KB")],
        &expect![[r#"
            error: reading PORTCULLIS_MAX_CONTEXT from the environment
              caused by: PORTCULLIS_MAX_CONTEXT: "20 KB" is not a whole number
              hint: PORTCULLIS_MAX_CONTEXT is a whole number of bytes from 0 to 16777216
        "#]],
    );
    check_error(
        "",
        &[("PORTCULLIS_TOKEN", "swordfish")],
        &expect![[r#"
            error: reading PORTCULLIS_TOKEN from the environment
              caused by: PORTCULLIS_TOKEN: the token is shorter than 16 characters
              hint: PORTCULLIS_TOKEN is at least 16 characters of ASCII without spaces
        "#]],
    );
    for variable in SETTINGS.iter().filter_map(Setting::variable) {
        let shown = report(&load("", &[(variable, "")]).unwrap_err());
        assert!(shown.contains(&format!("reading {variable} from the environment")), "{shown}");
    }
}

#[test]
fn a_variable_that_is_not_utf_8_is_named() {
    use std::os::unix::ffi::OsStringExt;
    let home = tempfile::tempdir().unwrap();
    let listen = |name: &str| (name == "PORTCULLIS_LISTEN").then(|| OsString::from_vec(vec![0xff]));
    let shown = report(&Config::load(&paths_under(home.path()), &listen, &[]).unwrap_err());
    assert!(shown.contains("PORTCULLIS_LISTEN: not UTF-8"), "{shown}");
}

#[test]
fn an_address_of_the_network_is_refused() {
    check_error(
        "listen = '0.0.0.0:8788'",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 1: listen: 0.0.0.0:8788 could be reached from other machines
              hint: listen is "off" or a loopback address with its port, such as "127.0.0.1:8788", "localhost:8788" (the same) or "[::1]:8788"
        "#]],
    );
}

#[test]
fn a_token_is_never_read_from_the_file_nor_shown() {
    check_error(
        "token = 'ptc_0123456789abcdef'",
        &[],
        &expect![[r#"
            error: reading configuration from FILE
              caused by: line 1: token is never read from a file
              hint: remove the line and set PORTCULLIS_TOKEN where you start the gate
        "#]],
    );
    let config = load("", &[("PORTCULLIS_TOKEN", "ptc_0123456789abcdef")]).unwrap();
    let shown = format!("{config:?} {config:#?}");
    assert!(shown.contains("token: Some(***)") && !shown.contains("0123"), "{shown}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_not_an_empty_one() {
    let home = tempfile::tempdir().unwrap();
    let paths = paths_under(home.path());
    fs::create_dir(&paths.config_file).unwrap();
    assert!(Config::load(&paths, &|_| None, &[]).is_err());
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

#[test]
fn every_example_loads() {
    assert!(examples().len() >= 2);
    for example in examples() {
        if let Err(error) = load(fs::read(&example).unwrap(), &[]) {
            panic!("{}: {}", example.display(), report(&error));
        }
    }
}

#[test]
fn the_example_of_all_settings_shows_every_one_with_its_default() {
    let path = examples().into_iter().find(|path| path.ends_with("all-settings.toml")).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let written: toml::Table = toml::from_str(&text).unwrap();
    let written = toml::Value::Table(written);
    // Of a table with names of one's own there is only the head.
    let is_written = |key: &str| {
        let mut parts = key.split('.').take_while(|part| !part.starts_with('<'));
        parts.try_fold(&written, |value, part| value.get(part)).is_some()
    };
    for setting in SETTINGS.iter().filter(|setting| setting.in_file()) {
        assert!(is_written(setting.key), "{}", setting.key);
    }
    assert_eq!(format!("{:?}", load(text, &[]).unwrap()), format!("{:?}", Config::default()));
}

proptest! {
    #[test]
    fn any_bytes_as_configuration_never_panic(bytes: Vec<u8>) {
        drop(Layers::of_file(&bytes));
    }

    #[test]
    fn any_lines_that_look_like_settings_never_panic(
        lines in prop::collection::vec(
            (
                prop::sample::select(vec![
                    "listen", "durability", "max_context", "token", "limits", "limits.body", "limits.idle_seconds",
                    "[limits]", "[limits.body]", "[[limits]]", "[listen]", "rate", "'ä.ö'", "\"\\u0000\"", "",
                    "coalesce", "project_modes", "[projects.x]", "[projects.'/a']", "allow", "limits.queue",
                ]),
                prop::sample::select(vec![" = ", "=", ".", "\n", ""]),
                prop_oneof![any::<i128>().prop_map(|n| n.to_string()), any::<String>(), "\"[ -~]{0,9}\"", "[\\[{]{0,99}"],
            ),
            0..6,
        ),
    ) {
        let text: String = lines.iter().map(|(key, sign, value)| format!("{key}{sign}{value}\n")).collect();
        drop(Layers::of_file(text.as_bytes()));
    }

    #[test]
    fn any_variable_never_panics_and_never_opens_the_gate_to_the_network(text: String) {
        if let Ok(Listen::Addr(address)) = text.parse() {
            prop_assert!(address.ip().to_canonical().is_loopback());
        }
        let mut layers = Layers::of_file(b"").ok().unwrap();
        for setting in SETTINGS.iter().filter(|setting| setting.variable().is_some()) {
            drop(layers.take(setting, "X", &text));
        }
    }
}

#[test]
fn the_nearest_project_that_has_a_mode_says_the_mode() {
    let file = "[projects.'~/code']\nmode = 'acceptEdits'\n[projects.'~/code/api']\nmode = 'plan'\n\
                [projects.'~/code/api/src']\nallow = ['Bash(make *)']\n[projects.'/srv/app']\nmode = 'dontAsk'";
    let config = load(file, &[]).unwrap();
    let home = |name: &str| (name == "HOME").then(|| OsString::from("/home/ann"));
    let paths = Paths::from_env(&home).unwrap();
    for (folder, mode) in [
        ("/home/ann/code/api/src", "plan"),
        ("/home/ann/code/web", "acceptEdits"),
        ("/home/ann/codes", "default"),
        ("/srv/app", "dontAsk"),
        ("/", "default"),
    ] {
        assert_eq!(config.mode_in(Path::new(folder), &paths).mode, mode, "{folder}");
    }
    let set = |folder: &str| SetModeView { folder: folder.into(), mode: "auto".into(), by: "ann".into(), at: 0 };
    let configured = config.mode_in(Path::new("/home/ann/code/api/src"), &paths);
    for (folder, mode) in
        [("/home/ann/code", "plan"), ("/home/ann/code/api", "auto"), ("/home/ann/code/api/src", "auto")]
    {
        assert_eq!(configured.unless_nearer(Some(&set(folder))), mode, "{folder}");
    }
    assert_eq!(config.mode_in(Path::new("/tmp"), &paths).unless_nearer(Some(&set("/"))), "auto");
    for wrong in ["[projects.work]\nmode = 'plan'", "[projects.'/srv']\nmode = 'sometimes'"] {
        assert!(load(wrong, &[]).is_err(), "{wrong}");
    }
}
