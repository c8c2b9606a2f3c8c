//! Prompts and verdicts of the API, read back into what they were made of, by programs that show and answer them.

use portcullis_core::policy::{Reason, Risk};
use portcullis_core::{Behavior, Details, McpTool, NewAsk, Offer, Replaced, Ruling, Scope, Text};

use super::{AskView, NewVerdict};

/// The view names something that this program does not know.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownPrompt;

impl TryFrom<&AskView> for NewAsk {
    type Error = UnknownPrompt;

    fn try_from(view: &AskView) -> Result<Self, UnknownPrompt> {
        let risk = view.risk.as_ref().and_then(|risk| {
            let reasons: Vec<Reason> = risk.reasons.iter().filter_map(|reason| reason.parse().ok()).collect();
            Some(Risk { level: risk.level.parse().ok()?, reasons })
        });
        let offer =
            |offer: &super::OfferView| Some(Offer { scope: offer.scope.parse().ok()?, words: offer.words.clone() });
        let replaced = |replaced: &super::ReplacedView| Replaced {
            size: replaced.size,
            lines: replaced.lines,
            text: replaced.text.as_deref().map(Text::new),
        };
        let details = Details {
            input: view.input.as_ref().map(|input| Text::new(input.to_string())),
            tool_use_id: view.tool_use_id.clone(),
            agent: view.agent_id.clone(),
            kind: view.kind.parse().map_err(|_| UnknownPrompt)?,
            offers: view.offers.iter().filter_map(offer).collect(),
            editable: view.editable,
            interruptible: view.interruptible,
            default_to_no: view.default_to_no,
            requires_user_interaction: view.requires_user_interaction,
            reason: view.reason.clone(),
            risk,
            quorum: view.quorum.unwrap_or(1),
            modes: view.modes.iter().filter_map(|mode| mode.parse().ok()).collect(),
            replaced: view.replaces.as_ref().map(replaced),
            mcp: view.mcp.as_ref().map(McpTool::from),
            ..Details::default()
        };
        Ok(Self {
            id: view.id.parse().map_err(|_| UnknownPrompt)?,
            source: view.source.parse().map_err(|_| UnknownPrompt)?,
            origin: String::new(),
            tool: view.tool.clone(),
            description: Text::new(view.description.as_str()),
            preview: Text::new(view.preview.as_str()),
            details,
        })
    }
}

impl From<&Ruling> for NewVerdict {
    fn from(ruling: &Ruling) -> Self {
        let input = ruling.input.as_ref().and_then(|edited| serde_json::from_str(edited.text.as_str()).ok());
        Self {
            behavior: ruling.behavior.name().to_owned(),
            why: ruling.why.clone(),
            scope: (ruling.behavior == Behavior::Allow && ruling.scope != Scope::Once)
                .then(|| ruling.scope.name().to_owned()),
            input,
            answers: None,
            interrupt: ruling.interrupt,
            mode: ruling.mode.map(|mode| mode.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::every_record;
    use portcullis_core::{AskLife, Record};

    #[test]
    fn a_prompt_of_the_api_is_read_back_as_people_judge_it() {
        let asks = every_record().into_iter().filter_map(|record| match record {
            Record::Asked { ask } => Some(ask),
            _ => None,
        });
        for ask in asks {
            let read = NewAsk::try_from(&AskView::of(&ask, &AskLife::Open { votes: vec![] })).unwrap();
            let details = Details { digest: None, timeout: None, held: false, confirm_within: None, ..*ask.details };
            assert_eq!((read.id, read.tool, read.preview), (ask.id, ask.tool, ask.preview));
            assert_eq!(read.details, details);
        }
    }
}
