//! What a terminal sends: lines that are typed, and signals.

use tokio::signal::unix::Signal;
use tokio::sync::mpsc;

/// What is typed, line by line. The thread that reads ends with the process.
pub(crate) fn lines() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut line = String::new();
        while let Ok(1..) = std::io::stdin().read_line(&mut line) {
            if send.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line; none when there will be no more. Waits for ever where nobody types.
pub(super) async fn next_line(typed: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match typed {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

/// Returns at each signal.
pub(super) async fn received(signals: &mut Signal) {
    if signals.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}
