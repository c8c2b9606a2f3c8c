//! Too much of everything: memory stays bounded, refusals say when to come back, and everyone else is served.

use crate::support::PATIENCE;
use crate::support::connection::Connection;
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use std::time::Duration;

#[test]
fn a_session_and_an_idle_connection_outlive_the_time_for_a_head() {
    let home = Home::new();
    home.write_config("[limits]\nheader_seconds = 1\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let mut idle = Connection::open(&gate.target());
    idle.send(&Request::get("/healthz")).expect(200);
    let watch = Events::open(&gate.socket(), "/api/v1/watch", &[]);
    assert!([watch.next(PATIENCE), watch.next(PATIENCE)][1].data.contains("ready"));
    watch.no_event_within(Duration::from_millis(2500));
    idle.send(&Request::get("/healthz")).expect(200);
    gate.say("/", "still there").expect(200);
    assert_eq!(session.next_event().content, "still there");
}
