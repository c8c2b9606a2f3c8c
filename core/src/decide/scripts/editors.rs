//! Editors that a person has said are theirs.

use super::*;
use expect_test::expect;

#[test]
fn an_editor_is_trusted_by_admins_alone_and_once() {
    check(
        "0 editor 7:boot:1 zed ann
         1 editor 7:boot:1 zed root
         2 editor 7:boot:1 zed root",
        &expect![[r#"
            0 editor 7:boot:1 zed ann
              > refused: NeedsRight(Admin)
            1 editor 7:boot:1 zed root
              + editor 7:boot:1 (zed) trusted by root
              > done
            2 editor 7:boot:1 zed root
              > done
        "#]],
    );
}

#[test]
fn an_editor_is_known_by_its_process_alone_and_the_oldest_is_forgotten() {
    let mut state = State::default();
    for number in 0..100 {
        let process = format!("{number}:boot:1");
        state.apply(Moment(number), &Record::EditorTrusted { process, what: "zed".into(), by: "owner".into() });
    }
    assert!(state.is_trusted_editor("99:boot:1") && !state.is_trusted_editor("99:boot:2"));
    assert!(!state.is_trusted_editor("0:boot:1"));
    assert_eq!(state.trusted_editors().len(), 64);
}
