//! People on the page: whoever is removed is asked about once, and is out with all that they had.

use super::site::Site;
use crate::support::browser::DESKTOP;
use serde_json::json;

#[test]
fn a_person_is_removed_after_one_question_with_all_tokens_and_nobody_else_is() {
    let site = Site::new();
    let [ann, bob] = ["ann", "bob"].map(|name| site.home.token_for(name, "reviewer"));
    let page = site.page(&["admin"], DESKTOP);
    page.goto(&format!("http://{}/#/people", site.gate.address()));
    page.see_text(".card strong", "ann");
    page.run(
        "window.asked = []; window.confirm = (question) => (window.asked.push(question), window.yes ?? false); true",
    );
    let remove = ".card:has(strong:text-is(\"ann\")) [data-action=remove]";
    page.click(remove);
    assert_eq!(page.run("window.asked"), json!(["Remove ann, with all tokens?"]));
    site.gate.get_as(&ann, "/api/v1/me").expect(200);
    assert_eq!(site.home.records("person_removed").len(), 0, "who says no has removed nobody");
    page.run("window.yes = true");
    page.click(remove);
    page.gone(".card strong:text-is(\"ann\")");
    page.see_text(".card strong", "bob");
    site.gate.get_as(&ann, "/api/v1/me").expect(401);
    site.gate.get_as(&bob, "/api/v1/me").expect(200);
    assert_eq!(page.text("main .notice").trim(), "");
    page.click("nav a[href='#/log']");
    page.see_text(".log .words", "ann was removed by owner");
    assert!(page.barriers().is_empty(), "{:?}", page.barriers());
    assert_eq!(page.problems(), [""; 0]);
}
