//! Turns of one thread's tasks: what others do in the meantime is waited for without setting a clock.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Lets every other task that is ready have its turn first.
pub(crate) async fn next_turn() {
    let mut is_second = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// What a future is now.
pub(crate) async fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context))).await
}

/// What comes of this while others have so many turns; none where it takes longer.
pub(crate) async fn within_turns<F: Future + Unpin>(turns: usize, future: &mut F) -> Option<F::Output> {
    for _ in 0..turns {
        if let Poll::Ready(made) = poll_once(future).await {
            return Some(made);
        }
        next_turn().await;
    }
    match poll_once(future).await {
        Poll::Ready(made) => Some(made),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn what_another_task_does_in_its_turn_comes_and_what_takes_longer_does_not() {
        let (sends, mut comes) = oneshot::channel();
        tokio::spawn(async move { sends.send(1) });
        assert_eq!(within_turns(1, &mut comes).await, Some(Ok(1)));
        let (_kept, mut comes) = oneshot::channel::<u8>();
        assert_eq!(within_turns(3, &mut comes).await, None);
    }
}
