//! What is said of a call whose judgement was not there in time.

use portcullis_core::policy::{Decision, Judgement, MandatoryAsk, Mode, Reason, Risk, RiskLevel};

const TOO_LONG: &str = "judging it by the rules takes too long";

/// Asked for in every mode, and denied where nobody is asked. What the owner's rules alone said by then is kept; without
/// it as many people must allow it as any rule may want.
pub(crate) fn late(mode: Mode, by_trusted: Option<Judgement>, quorum: Option<u32>) -> Judgement {
    let late = MandatoryAsk::Unreadable(TOO_LONG);
    let known = by_trusted.unwrap_or_else(|| Judgement {
        decision: Decision::Ask,
        rule: None,
        why: late.to_string(),
        mandatory_asks: vec![],
        suppress_always: true,
        quorum,
        risk: Risk { level: RiskLevel::High, reasons: vec![Reason::Unclear] },
    });
    if known.decision == Decision::Deny {
        return known;
    }
    let decision = if mode == Mode::DontAsk { Decision::Deny } else { Decision::Ask };
    let why = if known.decision == Decision::Ask { known.why } else { late.to_string() };
    let rule = known.rule.filter(|rule| rule.decision != Decision::Allow);
    let mandatory_asks = known.mandatory_asks.into_iter().chain([late]).collect();
    Judgement { decision, rule, why, mandatory_asks, suppress_always: true, ..known }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_trusted(decision: Decision) -> Option<Judgement> {
        let risk = Risk { level: RiskLevel::Low, reasons: vec![] };
        let why = "the owner says so".to_owned();
        let judgement = Judgement {
            decision,
            rule: None,
            why,
            mandatory_asks: vec![],
            suppress_always: false,
            quorum: Some(2),
            risk,
        };
        Some(judgement)
    }

    #[test]
    fn what_is_late_is_never_looser_than_what_the_owner_said() {
        assert_eq!(
            late(Mode::BypassPermissions, by_trusted(Decision::Deny), None),
            by_trusted(Decision::Deny).unwrap()
        );
        let asked = late(Mode::BypassPermissions, by_trusted(Decision::Ask), None);
        assert_eq!((asked.decision, asked.why.as_str(), asked.quorum), (Decision::Ask, "the owner says so", Some(2)));
        let allowed = late(Mode::BypassPermissions, by_trusted(Decision::Allow), None);
        assert_eq!((allowed.decision, allowed.mandatory_asks.len()), (Decision::Ask, 1));
        assert_eq!(late(Mode::Default, None, Some(2)).quorum, Some(2));
        assert_eq!(late(Mode::DontAsk, by_trusted(Decision::Allow), None).decision, Decision::Deny);
    }
}
