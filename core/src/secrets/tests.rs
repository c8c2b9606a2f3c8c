//! What is masked, what is not, and that masking hides nothing else.

use super::*;
use proptest::prelude::*;

fn masked(text: &str) -> String {
    mask(text).0.into_owned()
}

#[test]
fn well_known_secrets_are_masked_and_keep_their_first_letters() {
    let cases = [
        ("sk-ant-api03-AbCdEfGhIjKlMnOpQrSt", "sk-ant-api0***"),
        ("use sk-proj0123456789abcdefghij now", "use sk-proj*** now"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ", "ghp_0123***"),
        ("gho_0123456789abcdefghij", "gho_0123***"),
        ("github_pat_11ABCDEFG0123456789_abc", "github_pat_11AB***"),
        ("xoxb-1234567890-abcdefghij", "xoxb-1234***"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA***"),
        ("AIzaSyA0123456789-abcdefghijklmnopqrstu", "AIzaSyA0***"),
        ("glpat-0123456789abcdefghij", "glpat-0123***"),
        ("npm_0123456789abcdefghij0123456789abcdef", "npm_0123***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJhbG***"),
        ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer ***' x"),
        ("authorization: Basic dXNlcjpwYXNzd29yZA==", "authorization: Basic dXNl***"),
        ("Authorization: 0123456789abcdef", "Authorization: 0123***"),
        ("password=hunter2 next", "password=*** next"),
        ("mysql --password=hunter2", "mysql --password=***"),
        ("export DB_PASSWORD='hunter2'", "export DB_PASSWORD='***'"),
        ("GITHUB_TOKEN=0123456789abcdefgh make", "GITHUB_TOKEN=0123*** make"),
        ("?token=abc&x=1", "?token=***&x=1"),
        (r#"{"apiKey": "abc", "n": 1}"#, r#"{"apiKey": "***", "n": 1}"#),
        (r#"{"a":"{\"client_secret\":\"abc\"}"}"#, r#"{"a":"{\"client_secret\":\"***\"}"}"#),
        (r#"{"a":"x\nghp_0123456789abcdefghij\n"}"#, r#"{"a":"x\nghp_0123***\n"}"#),
        ("api_key: abc123", "api_key: ***"),
        ("secret = 'abc'", "secret = '***'"),
        ("git clone https://ann:hunter2@example.org/x.git", "git clone https://ann:***@example.org/x.git"),
        ("https://ghp_0123456789abcdefghij:x-oauth-basic@host", "https://ghp_0123***:***@host"),
        ("https://ghp_0123456789abcdefghij@host", "https://ghp_0123***@host"),
        ("s://a.eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln:x@h", "s://a.eyJhbG***:***@h"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789\nabcdefghijklmnopqrstuv==\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE***\nabcd***\n-----END RSA PRIVATE KEY-----",
        ),
        (
            r"-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA0123456789\n-----END PRIVATE KEY-----",
            r"-----BEGIN PRIVATE KEY-----\nMIIE***\n-----END PRIVATE KEY-----",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(masked(text), want);
        assert!(mask(text).1 > 0);
    }
    assert_eq!(mask("token=a password=b").1, 2);
}

#[test]
fn what_is_no_secret_stays_as_it_is() {
    for text in [
        "",
        "git push origin main",
        "the token is kept in owner.token",
        "Password: please enter yours",
        "max_tokens=100",
        "a task-0123456789abcdefghijklmn",
        "sk-short",
        "let token = next_token();",
        "token=read_token()",
        "if password == other {",
        "Secret::new",
        "http://localhost:8788/events",
        "https://example.org/a:b@c",
        "echo $TOKEN ${PASSWORD}",
        "password=",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA0123456789\n",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ] {
        assert!(matches!(mask(text), (Cow::Borrowed(same), 0) if same == text), "{text:?} became {:?}", masked(text));
    }
}

#[test]
fn a_command_cannot_hide_in_a_secret() {
    for text in [
        "PASSWORD= rm -rf x",
        "echo \"password=\";rm -rf x",
        "echo \"password=\" ; rm -rf x",
        "token=$(rm -rf x)",
        "token=`rm -rf x`",
        "echo -----BEGIN PRIVATE KEY-----\nrm -rf x\necho -----END PRIVATE KEY-----",
        "curl -d token=@/etc/shadow x",
    ] {
        assert_eq!(masked(text), text);
    }
    assert_eq!(masked("password=a;rm -rf x"), "password=***;rm -rf x");
    assert_eq!(masked("Authorization: Bearer a\"; rm -rf x"), "Authorization: Bearer ***\"; rm -rf x");
}

#[test]
fn time_grows_with_the_text_alone() {
    // Each of these would take hours if what was looked at once were looked at again from every place.
    for part in ["token=", "eyJaaaaaaa.", "password:", "http://a:", "-----BEGIN PRIVATE KEY", "\\", "authorization:"] {
        let text = format!("{}(", part.repeat(100_000));
        assert!(mask(&text).0.len() <= text.len());
    }
}

/// Anything, and things made of the parts of secrets.
fn any_text() -> impl Strategy<Value = String> {
    let parts = r#"(password|TOKEN|api_key|Authorization|Bearer|Basic|sk-ant-|ghp_|AKIA|eyJ|xoxb-|-----BEGIN |RSA |PRIVATE KEY-----|-----END |https://|[a-zA-Z0-9]{16}|[a-c]|7|=|:|@|/|\.|\(|\$|;|"|'|\\|\\n| |\n|ä|\*\*\*|\*){0,24}"#;
    prop_oneof![any::<String>(), parts]
}

fn any_secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "sk-ant-[a-zA-Z0-9_-]{16,90}",
        "gh[pousr]_[a-zA-Z0-9]{20,40}",
        "github_pat_[a-zA-Z0-9_]{20,80}",
        "xox[abeprs]-[a-zA-Z0-9-]{10,60}",
        "(AKIA|ASIA)[A-Z0-9]{16}",
        "AIza[a-zA-Z0-9_-]{35}",
        "glpat-[a-zA-Z0-9_-]{20}",
        "npm_[a-zA-Z0-9]{36}",
        "eyJ[a-zA-Z0-9_-]{10,40}\\.eyJ[a-zA-Z0-9_-]{10,40}\\.[a-zA-Z0-9_-]{10,40}",
    ]
}

proptest! {
    #[test]
    fn any_text_is_masked_without_a_panic_and_once_is_enough(text in any_text()) {
        let (once, count) = mask(&text);
        prop_assert_eq!(count == 0, *once == *text);
        prop_assert_eq!(masked(&once), &*once);
    }

    #[test]
    fn no_letter_that_a_shell_acts_upon_is_hidden(text in any_text()) {
        let acting = |text: &str| -> String {
            text.chars().filter(|letter| letter.is_ascii() && !is_inert(*letter as u8) && *letter != '*').collect()
        };
        prop_assert_eq!(acting(&masked(&text)), acting(&text));
    }

    #[test]
    fn a_secret_is_found_wherever_it_stands(
        before in "[ -~]{0,20}[ \"'=(]", secret in any_secret(), after in "([ \"'),;\n][ -~]{0,20})?",
    ) {
        let text = format!("{before}{secret}{after}");
        prop_assert!(!masked(&text).contains(&secret), "{}", masked(&text));
    }

    #[test]
    fn what_is_given_a_secret_name_is_masked(
        name in "(DB_)?(password|Token|API_KEY|client-secret)", sign in "=|=\"|='|: \"|\": \"",
        value in "[a-zA-Z0-9._~/+-]{4,60}",
    ) {
        let text = format!("{name}{sign}{value}\" end");
        prop_assert!(!masked(&text).contains(&value), "{}", masked(&text));
    }
}
