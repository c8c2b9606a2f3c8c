//! The head of the plain request before: who sends much says the same each time, but for the length of the body.

use super::{PlainPost, number};
use crate::doors::http::Door;
use crate::doors::http::credentials::Caller;
use crate::hub::TcpConnection;

/// What was read of a head, and what is compared to know that another would be read alike.
#[derive(Default)]
pub(super) struct KnownHead {
    /// Up to the length of the body. Empty where nothing is known.
    before: Vec<u8>,
    /// From behind the length on.
    behind: Vec<u8>,
    token: String,
    names_sender: bool,
    label: Option<String>,
    /// The token is the owner's, which does not change. Those of others are looked up each time: they may be revoked.
    is_owners: bool,
}

const LENGTH: &[u8] = b"content-length:";

impl KnownHead {
    /// `bytes` begin with the request that was read from them, by this caller.
    pub(super) fn of(bytes: &[u8], (request, size): &(PlainPost<'_>, usize), caller: &Caller) -> Option<Self> {
        let head = bytes.get(..size - request.text.len())?;
        let mut at = 0;
        for line in head.split_inclusive(|byte| *byte == b'\n') {
            if line.get(..LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(LENGTH)) {
                let start = at + line.iter().position(u8::is_ascii_digit)?;
                let (before, rest) = head.split_at(start);
                let behind = rest.iter().position(|byte| !byte.is_ascii_digit()).map(|end| &rest[end..])?;
                return Some(Self {
                    before: before.to_vec(),
                    behind: behind.to_vec(),
                    token: request.token.to_owned(),
                    names_sender: request.names_sender,
                    label: request.label.map(str::to_owned),
                    is_owners: caller.actor.is_some() && caller.token.is_none(),
                });
            }
            at += line.len();
        }
        None
    }

    /// Who sends it.
    pub(super) fn caller(&self, door: &Door, connection: TcpConnection) -> Caller {
        match self.is_owners {
            true => door.credentials.caller_as_owner(connection),
            false => door.credentials.caller_by_token(&self.token, connection),
        }
    }

    /// The request that the bytes begin with, if its head is the one that is known. None says nothing of it.
    pub(super) fn read<'a>(&'a self, bytes: &'a [u8]) -> Option<(PlainPost<'a>, usize)> {
        let rest = bytes.strip_prefix(self.before.as_slice()).filter(|_| !self.before.is_empty())?;
        let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
        let (length, rest) = rest.split_at(digits);
        let length = number(length)?;
        let body = rest.strip_prefix(self.behind.as_slice())?.get(..length)?;
        let text = std::str::from_utf8(body).ok().filter(|text| !text.is_empty())?;
        let (token, label) = (self.token.as_str(), self.label.as_deref());
        let request = PlainPost { token, names_sender: self.names_sender, label, text };
        Some((request, self.before.len() + digits + self.behind.len() + length))
    }
}
