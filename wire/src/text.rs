//! Prompts, what became of them, and replies, as the text that every door shows to people.

use portcullis_core::policy::Risk;
use portcullis_core::{
    Ask, AskKind, AskLife, NotAVerdict, Notice, Offer, PairingCode, Reply, Role, SessionId, Text, excerpt, mask,
    visible,
};
use serde_json::Value;

use crate::questions::Questions;

/// The shortest limit that a prompt can be fitted into with everything that it takes to answer it.
pub const SHORTEST: usize = 500;

/// What a person is told of a change; most changes are nobody's concern.
pub fn notice(notice: &Notice) -> Option<String> {
    match notice {
        Notice::Replied { reply: said, .. } => {
            let what = match said.edited {
                None => format!("Reply to {}", said.chat),
                Some(_) => format!("Edit of reply {} to {}", said.id, said.chat),
            };
            Some(format!("{what}: {}", reply(said, None)))
        }
        Notice::Ask { ask, life: AskLife::Open { votes }, label, .. } if votes.is_empty() => {
            Some(prompt(ask, label.as_str(), None))
        }
        Notice::Ask { ask, life, .. } => progress(ask, life),
        Notice::Session { .. } | Notice::Event { .. } | Notice::People => None,
    }
}

/// What became of a prompt. None while it is as it was shown, and where nothing is new since it was answered.
pub fn progress(ask: &Ask, life: &AskLife) -> Option<String> {
    let what = match life {
        AskLife::Open { votes } => {
            let (needed, so_far) = (ask.details.quorum, votes.len());
            format!("{}, {so_far} of the {needed} who must agree", votes.last()?.in_words())
        }
        AskLife::Expired { .. } => "nobody answered in time; it stays at its terminal".to_owned(),
        AskLife::Answered { outcome: Some(outcome), .. } if outcome.differs => {
            "WARNING: what ran is not what was shown".to_owned()
        }
        AskLife::Answered { verdict, .. } if life.is_unconfirmed() => {
            let todo = match life.is_replaceable() {
                true => "Its process is away: until it is back, it can be answered again",
                false => "Look at its terminal",
            };
            format!("{}; NOT CONFIRMED: nothing shows that the session took it. {todo}", verdict.in_words())
        }
        AskLife::Answered { verdict, carried: None, outcome: None, .. } => verdict.in_words(),
        AskLife::Withdrawn { why, .. } => format!("withdrawn, {why}"),
        AskLife::Answered { .. } => return None,
    };
    Some(format!("Prompt {}: {what}", ask.code))
}

/// The reply and the files that go with it, in at most `longest` bytes.
pub fn reply(reply: &Reply, longest: Option<usize>) -> String {
    let mut text = visible(reply.text.as_str());
    for file in &reply.files {
        text.push_str(&format!("\n[file {} ({} bytes)]", visible(&file.path), file.size));
    }
    fitted(text, longest)
}

/// What stands in the place of a reply from now on, in at most `longest` bytes.
pub fn edit(text: &Text, longest: Option<usize>) -> String {
    fitted(visible(text.as_str()), longest)
}

fn fitted(text: String, longest: Option<usize>) -> String {
    let space = longest.map(|longest| longest.saturating_sub(left_off(usize::MAX, "").len()));
    match longest {
        Some(longest) if text.len() > longest => {
            let (shown, left) = excerpt(&text, space);
            format!("{shown}{}", left_off(left, ""))
        }
        _ => text,
    }
}

fn left_off(bytes: usize, more: &str) -> String {
    format!("\n[{bytes} more bytes{more}]")
}

/// The text as one line that a terminal may safely show.
pub fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The start of a text of which at most `longest` bytes are shown, without secrets.
pub fn masked_start(text: &str, longest: usize) -> String {
    // Masked before it is cut: half of a secret would no longer be known as one.
    let (masked, _) = mask(text);
    match excerpt(&masked, Some(longest)) {
        (whole, 0) => visible(whole),
        (start, left) => format!("{}… [{left} more bytes]", visible(start)),
    }
}

/// Masks the secrets in every text of a value.
pub fn mask_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = mask(text).0.into_owned(),
        Value::Array(values) => values.iter_mut().for_each(mask_all),
        Value::Object(fields) => fields.values_mut().for_each(mask_all),
        _ => {}
    }
}

/// A prompt with everything that it takes to answer it, in at most `longest` bytes, which are [`SHORTEST`] or more. Whoever
/// reads along need not read secrets, and a reviewer is told that there are some: what runs is shown whole by `ask show`
/// and by the API.
pub fn prompt(ask: &Ask, label: &str, longest: Option<usize>) -> String {
    let (description, hidden) = mask(ask.description.as_str());
    let (preview, more) = mask(ask.preview.as_str());
    let (tool, description, preview) = (visible(&ask.tool), visible(&description), visible(&preview));
    let head = format!("Claude wants to run {tool}: {description}");
    let ending = format!("Session {label}. {}", how_to_answer(ask));
    let mut notes = notes(ask, hidden + more, None);
    let whole = head.len() + preview.len() + notes.len() + ending.len() + 4;
    let Some(longest) = longest.filter(|longest| whole > *longest) else {
        return format!("{head}\n\n{preview}\n\n{notes}{ending}");
    };
    let shows_all = format!("; `portcullis ask show {}` shows all of it", ask.code);
    let space = longest.saturating_sub(ending.len() + left_off(usize::MAX, &shows_all).len() + 4);
    if notes.len() > space / 2 {
        notes = self::notes(ask, hidden + more, Some(space / 8));
    }
    let space = space.saturating_sub(notes.len());
    let (head, cut) = excerpt(&head, Some(space / 2));
    let (preview, left) = excerpt(&preview, Some(space - head.len()));
    format!("{head}\n\n{preview}{}\n\n{notes}{ending}", left_off(cut + left, &shows_all))
}

/// What stands between the preview and the ending: a line each, of which at most `longest` bytes are shown.
fn notes(ask: &Ask, masked: usize, longest: Option<usize>) -> String {
    let (code, details) = (ask.code, &ask.details);
    let masked = (masked > 0).then(|| format!("[{masked} masked; `portcullis ask show {code}` shows all of it]"));
    let risk = details.risk.as_ref().map(|risk| format!("Risk: {}", risk.in_words()));
    let reason = details.reason.as_ref().map(|reason| because(&mask(reason).0));
    let quorum = (details.quorum > 1).then(|| format!("{} people must allow it", details.quorum));
    let offers = (!details.offers.is_empty()).then(|| offers(ask));
    let lines = [masked, risk, reason, quorum, offers].into_iter().flatten();
    let fitted = |line: String| format!("{}\n", excerpt(&visible(&line).replace('\n', " "), longest).0);
    lines.map(fitted).collect()
}

/// `Asked because: …`; a rule asks by itself.
fn because(reason: &str) -> String {
    match reason.strip_prefix("asked for by ") {
        Some(rule) => format!("Asked for by {rule}"),
        None => format!("Asked because: {reason}"),
    }
}

/// `risk high: network, unclear`, for a place that stands in brackets itself.
pub fn risk_in_words(risk: &Risk) -> String {
    risk.reasons.iter().enumerate().fold(format!("risk {}", risk.level), |words, (index, reason)| {
        format!("{words}{} {reason}", if index == 0 { ":" } else { "," })
    })
}

fn offers(ask: &Ask) -> String {
    let offer = |offer: &Offer| match offer.words.as_str() {
        "" => offer.scope.name().to_owned(),
        words => format!("{} ({})", offer.scope.name(), mask(words).0),
    };
    let offers: Vec<String> = ask.details.offers.iter().map(offer).collect();
    format!("`portcullis ask allow {} --scope` takes: {}", ask.code, offers.join(", "))
}

fn how_to_answer(ask: &Ask) -> String {
    let code = ask.code;
    match ask.details.kind {
        AskKind::Question => {
            let input = ask.details.input.as_ref().and_then(|input| serde_json::from_str(input.as_str()).ok());
            let how = Questions::of(&input.unwrap_or_default()).how_to_answer(&code.to_string());
            format!("Answer with {how}; or reply \"no {code}\"")
        }
        AskKind::Tool | AskKind::Plan => format!("Reply \"yes {code}\" or \"no {code}\""),
    }
}

/// Why what looks like a verdict is none.
pub fn not_a_verdict(why: NotAVerdict) -> String {
    let why = match why {
        NotAVerdict::NoSuchCode(code) => format!("no open prompt has the code {code}"),
        NotAVerdict::BadGrammar => "write yes or no and the prompt's five letters, and nothing else".to_owned(),
        NotAVerdict::NoPromptOpen => "no prompt is open".to_owned(),
        NotAVerdict::Settled(code) => format!("prompt {code} is settled already, see `portcullis ask show {code}`"),
    };
    format!("not taken as a verdict: {why}")
}

/// The same for its sender, where it went on as chat.
pub fn taken_as_chat(why: NotAVerdict, to: Option<SessionId>) -> String {
    let went = match to {
        Some(_) => "the text went to the agent as a message",
        None => "no session is connected, so the text waits for one as a message",
    };
    format!("{}; {went}", not_a_verdict(why))
}

/// What a stranger on a platform is shown.
pub fn pairing(code: &PairingCode) -> String {
    format!(
        "This gate does not know you. To be let in, show its owner this code within 10 minutes: {code}\n\
         The owner types: portcullis people pair {code} --name NAME"
    )
}

/// What someone is told who has been let in.
pub fn paired(name: &str, role: Role) -> String {
    let may = match role {
        Role::Sender => "What you write goes to the agent.",
        Role::Reviewer | Role::Admin => "What you write goes to the agent, and you may answer its prompts.",
        Role::Agent => "This role may not write here.",
    };
    format!("You are {name} now, a {role}. {may}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::policy::{Reason, Risk, RiskLevel};
    use portcullis_core::{AskId, ChatId, Code, Details, Moment, ReplyId, Scope, SentFile, SessionId, Source};
    use proptest::prelude::*;

    fn ask(description: &str, preview: &str, details: Details) -> Ask {
        Ask {
            id: AskId::new(Moment(0), 1),
            code: Code::parse("abcde").unwrap(),
            session: SessionId::new(Moment(0), 1),
            source: Source::Hook,
            origin: String::new(),
            tool: "Bash".into(),
            description: Text::new(description),
            preview: Text::new(preview),
            details: Box::new(details),
            at: Moment(0),
        }
    }

    fn full(reason: &str) -> Details {
        Details {
            offers: vec![Offer { scope: Scope::Session, words: "git push, until it ends".into() }],
            reason: Some(reason.into()),
            risk: Some(Risk { level: RiskLevel::High, reasons: vec![Reason::Network, Reason::Unclear] }),
            quorum: 2,
            ..Details::default()
        }
    }

    #[test]
    fn a_plain_prompt_is_what_it_says_and_how_it_is_answered() {
        let shown = prompt(&ask("Push", "git push", Details::default()), "api", None);
        assert_eq!(
            shown,
            "Claude wants to run Bash: Push\n\ngit push\n\nSession api. Reply \"yes abcde\" or \"no abcde\""
        );
        let question = Details { kind: AskKind::Question, ..Details::default() };
        let shown = prompt(&ask("", "", question), "api", None);
        assert!(shown.contains("portcullis ask allow abcde --answer"), "{shown}");
    }

    #[test]
    fn everything_that_helps_to_decide_is_shown_and_secrets_are_not() {
        let token = format!("ghp_{}", "a".repeat(36));
        let shown = prompt(&ask("Push", &format!("push {token}"), full(&format!("rule\nof {token}"))), "api", None);
        let (_, notes) = shown.split_once("\n\n[1 masked; `portcullis ask show abcde` shows all of it]\n").unwrap();
        let (because, rest) = notes.strip_prefix("Risk: high (network, unclear)\n").unwrap().split_once('\n').unwrap();
        assert!(because.starts_with("Asked because: rule of ") && !shown.contains(&token), "{shown}");
        assert_eq!(
            rest,
            "2 people must allow it\n\
             `portcullis ask allow abcde --scope` takes: session (git push, until it ends)\n\
             Session api. Reply \"yes abcde\" or \"no abcde\""
        );
    }

    #[test]
    fn a_long_reply_is_cut_and_says_so() {
        let (id, session, chat) = (ReplyId::new(Moment(0), 1), SessionId::new(Moment(0), 1), ChatId::new("c").unwrap());
        let files = vec![SentFile { path: "a\u{1b}b".into(), size: 3 }];
        let text = Text::new("ä".repeat(300));
        let said = Reply { id, session, chat, reply_to: None, text, files, at: Moment(0), edited: None };
        assert!(reply(&said, None).ends_with("ä\n[file a\\u{1b}b (3 bytes)]"));
        let cut = reply(&said, Some(500));
        assert!(cut.len() <= 500 && cut.ends_with(" more bytes]") && cut.starts_with("ää"), "{cut}");
        assert_eq!(reply(&said, Some(10_000)), reply(&said, None));
    }

    proptest! {
        #[test]
        fn any_prompt_fits_its_limit_and_can_be_answered(
            description in ".{0,600}",
            preview in "(\\PC|\n){0,2000}",
            reason in ".{0,2000}",
            longest in SHORTEST..3000,
        ) {
            let shown = prompt(&ask(&description, &preview, full(&reason)), "api", Some(longest));
            prop_assert!(shown.len() <= longest, "{} > {longest}: {shown}", shown.len());
            prop_assert!(shown.starts_with("Claude wants to run Bash"));
            prop_assert!(shown.ends_with("Session api. Reply \"yes abcde\" or \"no abcde\""));
        }
    }
}
