//! A call that was already answered for: its client asked by itself, and then makes it through our gateway.

use crate::ask::{Ask, AskLife, NewAsk, Source};
use crate::ids::{Moment, SessionId};
use crate::policy::OWN_SERVERS;
use crate::session::Session;
use crate::state::State;
use crate::verdict::{Behavior, Verdict};

/// For so many milliseconds an answer counts for a call of a client whose process is not known.
const COUNTS_FOR: u64 = 5 * 60_000;

/// The verdict of a person that lets this very call through: the same agent, the same id of the call, the same tool and
/// input. It is used once. The process of a client over HTTP is not known. There the id of the call is compared, which comes
/// from the model, and the person whose tokens both came with; the agent that asked must be attached, its call not ended, and
/// the answer a few minutes old at most.
pub(super) fn verdict<'a>(
    state: &'a State,
    now: Moment,
    session: SessionId,
    new: &NewAsk,
) -> Option<(&'a Ask, &'a Verdict)> {
    if new.source != Source::Gateway {
        return None;
    }
    let call = new.details.tool_use_id.as_deref()?;
    let input = new.details.digest?;
    let agent = |session: SessionId| state.session(session)?.about.pid;
    let person = |session: SessionId| state.session(session)?.about.person.as_deref();
    let (ours, owner) = (agent(session), person(session));
    let is_of_owner = |other: SessionId| fit(owner, person(other));
    let may_be_ours = |other: SessionId| fit(ours, agent(other)) && is_of_owner(other);
    let is_of_call = |ask: &Ask| ask.details.tool_use_id.as_deref() == Some(call);
    let is_used =
        state.asks().any(|(ask, _)| ask.source == Source::Gateway && is_of_call(ask) && may_be_ours(ask.session));
    let allowed = |(ask, life): &'a (Ask, AskLife)| match life {
        AskLife::Answered { verdict, outcome, .. } if verdict.ruling.behavior == Behavior::Allow => {
            let is_attached = || state.session(ask.session).is_some_and(Session::is_attached);
            // One of a moment that is still to come is of a clock that was set back since: nobody knows how old it is.
            let is_recent = || verdict.at <= now && now.since(verdict.at) <= COUNTS_FOR;
            let is_of_agent = match ours {
                Some(_) => agent(ask.session) == ours,
                None => is_of_owner(ask.session) && outcome.is_none() && is_attached() && is_recent(),
            };
            is_of_agent.then_some((ask, &**verdict))
        }
        _ => None,
    };
    let fits = |(ask, verdict): &(&Ask, &Verdict)| {
        let allowed = verdict.ruling.input.as_ref().map(|edited| edited.digest).or(ask.details.digest);
        is_of_call(ask)
            && is_same_tool(&ask.tool, &new.tool)
            && allowed == Some(input)
            && ask.details.quorum >= new.details.quorum
    };
    if is_used { None } else { state.asks().filter_map(allowed).find(fits) }
}

/// Whether two sessions may have the same of something, as far as it is known of both.
fn fit<T: PartialEq + Copy>(one: Option<T>, other: Option<T>) -> bool {
    one.is_none() || other.is_none() || one == other
}

/// Whether a client's name for a tool means ours: `mcp__server__tool`, perhaps with the gateway's own name before it. Nobody
/// tells us that name, so only those count that we say: a server of any other has tools of its own, and one of them may be
/// called like a server and a tool of ours.
fn is_same_tool(of_client: &str, ours: &str) -> bool {
    let behind_gateway = || OWN_SERVERS.iter().find_map(|gateway| of_client.strip_prefix(gateway));
    of_client == ours || ours.strip_prefix("mcp__").is_some_and(|tool| behind_gateway() == Some(tool))
}
