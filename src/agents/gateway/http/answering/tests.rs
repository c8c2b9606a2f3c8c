//! Answers that come at once, later, or to nobody.

use futures_util::StreamExt as _;
use http_body_util::{BodyExt, StreamBody};

use super::*;

const EARLY: AnswerComes = AnswerComes { has_head_early: true, with_an_end: true };

fn timely(listening: &AnswerListener) -> Timely {
    Timely { listening: listening.leaving(), _in_use: None, comment: Duration::from_secs(15) }
}

async fn next(body: &mut AnswerBody) -> Option<String> {
    let frame = body.frame().await?.unwrap().into_data().unwrap();
    Some(String::from_utf8(frame.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_an_answer_has_a_stream_with_comments_and_then_the_answer() {
    let listening = AnswerListener::default();
    let answering = Box::pin(async {
        tokio::time::sleep(Duration::from_secs(40)).await;
        let mut answer = Response::new(Full::new(Bytes::from_static(b"{\"id\":1}")).boxed());
        *answer.status_mut() = StatusCode::BAD_REQUEST;
        answer
    });
    let response = timely(&listening).answer(answering, EARLY).await;
    assert_eq!(
        (response.status(), &response.headers()[CONTENT_TYPE]),
        (StatusCode::OK, &HeaderValue::from_static(EVENTS))
    );
    let mut body = response.into_body();
    let begun = Instant::now();
    for seconds in [0, 15, 30] {
        assert_eq!(next(&mut body).await.as_deref(), Some(":\n\n"));
        assert_eq!(begun.elapsed().as_secs(), seconds);
    }
    assert_eq!(next(&mut body).await.as_deref(), Some("data: {\"id\":1}\n\n"));
    assert_eq!(next(&mut body).await, None);
    drop(body);
    assert!(!listening.is_gone(), "it has all of the answer");
}

/// Pieces of a stream, each so long after the one before.
fn pieces(pieces: &'static [(u64, &'static str)]) -> BoxFuture<'static, HandledResponse> {
    let pieces = futures_util::stream::iter(pieces).then(|(after, text)| async {
        tokio::time::sleep(Duration::from_millis(*after)).await;
        Ok::<_, Infallible>(Frame::data(Bytes::from_static(text.as_bytes())))
    });
    let mut answer = Response::new(BodyExt::boxed(StreamBody::new(pieces)));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    Box::pin(std::future::ready(answer))
}

#[tokio::test(start_paused = true)]
async fn what_comes_at_once_is_one_piece_and_what_comes_later_is_not_waited_for() {
    let listening = AnswerListener::default();
    let quick = timely(&listening).answer(pieces(&[(0, "data: 1\n\n"), (5, "data: 2\n\n")]), EARLY).await;
    assert_eq!(quick.body().size_hint().exact(), Some(18));
    let all = quick.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(all, "data: 1\n\ndata: 2\n\n");
    assert!(!listening.is_gone());

    let begun = Instant::now();
    let slow = timely(&listening).answer(pieces(&[(0, "data: 1\n\n"), (9_000, "data: 2\n\n")]), EARLY).await;
    assert_eq!((begun.elapsed(), slow.body().size_hint().exact()), (AT_ONCE, None));
    let mut body = slow.into_body();
    assert_eq!(next(&mut body).await.as_deref(), Some("data: 1\n\n"));
    assert_eq!(begun.elapsed(), AT_ONCE);
    assert_eq!(next(&mut body).await.as_deref(), Some("data: 2\n\n"));
    drop(body);
    assert!(listening.is_gone(), "the end has not come");

    let endless = AnswerComes { with_an_end: false, ..EARLY };
    let begun = Instant::now();
    drop(timely(&AnswerListener::default()).answer(pieces(&[(9_000, "data: 1\n\n")]), endless).await);
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn who_leaves_is_gone_before_what_waited_for_the_answer_is_dropped() {
    struct Told(AnswerListener, std::sync::Arc<std::sync::Mutex<Option<bool>>>);
    impl Drop for Told {
        fn drop(&mut self) {
            *self.1.lock().unwrap() = Some(self.0.is_gone());
        }
    }
    let (listening, was_gone) = (AnswerListener::default(), std::sync::Arc::default());
    let told = Told(listening.clone(), std::sync::Arc::clone(&was_gone));
    let answering = Box::pin(async move {
        let _told = told;
        std::future::pending().await
    });
    drop(timely(&listening).answer(answering, EARLY).await);
    assert_eq!(*was_gone.lock().unwrap(), Some(true));
}
