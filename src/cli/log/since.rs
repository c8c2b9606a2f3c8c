//! The moment that `--since` means: a time ago, a day, or a moment of one, in local time.

use chrono::{Days, Local, NaiveDate, NaiveDateTime, NaiveTime};
use portcullis_core::Moment;

use crate::hub::now;

pub(super) fn moment(text: &str) -> Result<Moment, String> {
    let text = text.trim();
    let today = Local::now().date_naive();
    let day = match text {
        "today" => Some(today),
        "yesterday" => today.checked_sub_days(Days::new(1)),
        _ => NaiveDate::parse_from_str(text, "%Y-%m-%d").ok(),
    };
    let at = |form| NaiveDateTime::parse_from_str(text, form).ok();
    let exactly =
        || ["%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"].into_iter().find_map(at);
    if let Some(local) = day.map(|day| day.and_time(NaiveTime::MIN)).or_else(exactly) {
        // An hour that the clocks leave out, or have twice, begins with the first there is.
        let moment = local.and_local_timezone(Local).earliest().map(|moment| moment.timestamp_millis());
        return Ok(Moment(moment.and_then(|moment| u64::try_from(moment).ok()).unwrap_or_default()));
    }
    match humantime::parse_duration(text) {
        Ok(ago) => Ok(Moment(now().0.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))),
        Err(_) => Err("a time is such as 10m, 12h, 3d, today, yesterday, 2026-11-15 or '2026-11-15 15:16'".to_owned()),
    }
}
