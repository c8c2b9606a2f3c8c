//! Secrets that do not show themselves, and the hashes we compare them by.

use std::fmt;

use crate::failure::Failure;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// Text that nobody sees by accident: it prints as `***`, and whoever wants it says `expose`.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// A token someone chose, if it is long enough to be none that can be guessed, and can travel in a header.
    pub(crate) fn token(text: &str) -> Result<Self, String> {
        const SHORTEST: usize = 16;
        // The reason never repeats what was written: most of a bad token is still a secret.
        if text.is_empty() {
            return Err("the token is empty".to_owned());
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the token has spaces or characters that are not ASCII".to_owned());
        }
        if text.len() < SHORTEST {
            return Err(format!("the token is shorter than {SHORTEST} characters"));
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A new token: `ptc_` and 256 random bits in hexadecimal.
pub(crate) fn generate_token() -> Result<Secret, Failure> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::configuration("asking the system for random bytes").because(error))?;
    Ok(Secret(format!("ptc_{}", hex(&bytes))))
}

/// What we keep of a token. The tokens are long and random, so that a plain SHA-256 is enough.
#[derive(Clone, Copy)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &str) -> Self {
        Self(sha256(token.as_bytes()))
    }

    /// Takes the same time whatever is presented.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        self.0.ct_eq(&Self::of(presented).0).into()
    }
}

/// A token somebody chose can be searched for by its hash, so the hash is not shown either.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(***)")
    }
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_stars() {
        let secret = Secret("hunter2hunter2hunter2".to_owned());
        assert_eq!(format!("{secret} {secret:?} {:?} {:#?}", Some(&secret), &secret), "*** *** Some(***) ***");
        assert_eq!(secret.expose(), "hunter2hunter2hunter2");
    }

    #[test]
    fn only_the_token_itself_matches_its_hash() {
        let hash = TokenHash::of("ptc_0123456789abcdef");
        assert!(hash.matches("ptc_0123456789abcdef"));
        for other in ["", "ptc_", "ptc_0123456789abcdee", "ptc_0123456789abcdef ", "PTC_0123456789ABCDEF"] {
            assert!(!hash.matches(other), "{other:?}");
        }
        assert_eq!(format!("{hash:?}"), "TokenHash(***)");
    }

    #[test]
    fn the_hash_is_sha_256() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex(&TokenHash::of("abc").0), of_abc);
    }

    #[test]
    fn generated_tokens_are_long_lower_case_and_never_the_same() {
        let (one, other) = (generate_token().unwrap(), generate_token().unwrap());
        let digits = one.expose().strip_prefix("ptc_").unwrap();
        assert_eq!(digits.len(), 64);
        assert!(digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
        assert_ne!(one.expose(), other.expose());
        assert!(Secret::token(one.expose()).is_ok());
    }

    #[test]
    fn a_token_that_is_short_or_cannot_travel_is_refused_without_repeating_it() {
        for bad in [
            "",
            "swordfish",
            "fifteen-letters",
            "a token with some spaces",
            "schlüssel-schlüssel",
            "tab\ttab\ttab\ttab\t",
        ] {
            let reason = Secret::token(bad).unwrap_err();
            assert!(bad.is_empty() || !reason.contains(bad), "{reason}");
        }
        assert!(Secret::token("sixteen-letters!").is_ok());
    }
}
