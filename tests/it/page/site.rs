//! What most tests of the page begin with: a gate, and a browser that looks at its page.

use crate::fakes::model::Model;
use crate::run::api::serve;
use crate::support::browser::{Browser, Page, Screen};
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::standin::StandIn;
use serde_json::json;

pub(super) struct Site {
    // Ended in this order.
    pub(super) browser: Browser,
    pub(super) gate: Gate,
    pub(super) home: Home,
}

impl Site {
    /// A gate that starts no sessions.
    #[track_caller]
    pub(super) fn new() -> Self {
        let home = Home::new();
        let gate = home.serve();
        Self { browser: Browser::start(&home), gate, home }
    }

    /// A gate whose sessions talk to this model.
    #[track_caller]
    pub(super) fn with(model: &Model) -> Self {
        Self::at(Home::new(), model)
    }

    /// The same, in a home that has something in it already.
    #[track_caller]
    pub(super) fn at(home: Home, model: &Model) -> Self {
        let gate = serve(&home, model, "");
        Self { browser: Browser::start(&home), gate, home }
    }

    /// A page of a device with these rights besides talk and review.
    #[track_caller]
    pub(super) fn page(&self, rights: &[&str], screen: Screen) -> Page<'_> {
        self.browser.linked("a", &self.gate, rights, screen)
    }

    /// Starts a session with the prompt that models of the tests know.
    #[track_caller]
    pub(super) fn go(&self) {
        self.gate.post("/api/v1/sessions", &json!({"prompt": "go"})).expect(201);
    }

    /// A session of another client, called `api`.
    #[track_caller]
    pub(super) fn session(&self) -> StandIn {
        StandIn::start(&self.home, &["--label", "api"])
    }
}
