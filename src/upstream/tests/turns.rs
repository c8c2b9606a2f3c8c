//! How many servers are reached at once.

use futures_util::FutureExt as _;
use serde_json::json;
use tokio::net::TcpListener;

use crate::upstream::config::{Upstream, entry_of_test};
use crate::upstream::{Timeouts, Upstreams};

#[tokio::test]
async fn no_more_than_twenty_servers_are_reached_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let entry = entry_of_test(&json!({"type": "http", "url": url}));
    let remote: Vec<Upstream> = (0..25).map(|number| Upstream::new(&number.to_string(), entry.clone())).collect();
    let upstreams = Upstreams::new(std::env::temp_dir(), Timeouts::read(&|_| None), 1);
    upstreams.reconcile(remote.iter()).await;
    let begun = || remote.iter().filter(|remote| upstreams.begun(&remote.name).now_or_never().is_some()).count();
    let connecting = futures_util::future::join_all(remote.iter().map(|remote| upstreams.connect(&remote.name)));
    // A server that takes connections and says nothing.
    let reached = async {
        let mut held = vec![];
        while held.len() < 20 {
            held.push(listener.accept().await.unwrap().0);
        }
        assert_eq!(begun(), 20, "the others wait for their turn");
        // All go: each of the rest has its turn, and is not let in either.
        drop((held, listener));
    };
    tokio::join!(connecting, reached);
    assert_eq!(begun(), 25);
}
