//! Ids that sort by their time of creation, codes that a person can type, and moments in time.

use std::fmt;
use std::str::FromStr;

/// A moment in milliseconds since 1970. Core never asks a clock: its caller passes the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    pub fn plus(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Milliseconds from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Crockford's alphabet: no letter that reads as a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// Two letters at once.
static PAIRS: [[u8; 2]; 1024] = {
    let mut pairs = [[0; 2]; 1024];
    let mut pair = 0;
    while pair < pairs.len() {
        pairs[pair] = [ALPHABET[pair / 32], ALPHABET[pair % 32]];
        pair += 1;
    }
    pairs
};

/// The text of an id, without an allocation.
#[derive(Clone, Copy)]
pub struct IdText([u8; LENGTH]);

impl IdText {
    fn of(id: u128) -> Self {
        let mut letters = [0; LENGTH];
        let mut rest = id;
        for pair in letters.chunks_exact_mut(2).rev() {
            [pair[0], pair[1]] = PAIRS[rest as usize & 1023];
            rest >>= 10;
        }
        Self(letters)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The value of each byte in an id, in either case; `NONE` for bytes that no id has.
const DIGITS: [u8; 256] = {
    let mut digits = [NONE; 256];
    let mut digit = 0;
    while digit < ALPHABET.len() {
        let letter = ALPHABET[digit];
        digits[letter as usize] = digit as u8;
        digits[letter.to_ascii_uppercase() as usize] = digit as u8;
        digit += 1;
    }
    digits
};
const NONE: u8 = u8::MAX;

fn read_id(text: &str) -> Option<u128> {
    if text.len() != LENGTH {
        return None;
    }
    let mut value: u128 = 0;
    for (place, byte) in text.bytes().enumerate() {
        let digit = DIGITS[usize::from(byte)];
        // 26 letters hold 130 bits: the first may only use three of its five.
        if digit == NONE || place == 0 && digit > 7 {
            return None;
        }
        value = value << 5 | u128::from(digit);
    }
    Some(value)
}

/// The text is not an id of ours.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an id: an id is 26 letters and digits")
    }
}

impl std::error::Error for NotAnId {}

/// The text is no code of a prompt or a pairing.
#[derive(Debug, PartialEq, Eq)]
pub struct NotACode;

impl fmt::Display for NotACode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a code")
    }
}

impl std::error::Error for NotACode {}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// An id made at `at`; `entropy` makes it differ from others of the same millisecond.
            pub fn new(at: Moment, entropy: u128) -> Self {
                Self(u128::from(at.0) << 80 | entropy & ((1 << 80) - 1))
            }

            /// When it was made.
            pub fn at(self) -> Moment {
                Moment(u64::try_from(self.0 >> 80).unwrap_or(u64::MAX))
            }

            pub fn text(self) -> IdText {
                IdText::of(self.0)
            }

            pub(crate) fn bits(self) -> u128 {
                self.0
            }

            pub(crate) fn of_bits(bits: u128) -> Self {
                Self(bits)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.text().as_str())
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                read_id(text).map(Self).ok_or(NotAnId)
            }
        }
    };
}

id!(
    /// The id of a session.
    SessionId
);
id!(
    /// The id of an event.
    EventId
);
id!(
    /// The id of an ask.
    AskId
);
id!(
    /// The id of a reply.
    ReplyId
);

id!(
    /// The id of an order to a session.
    OrderId
);

id!(
    /// The id of a token.
    TokenId
);

/// A pairing code: eight letters and digits that a stranger shows and the owner types.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairingCode(String);

impl PairingCode {
    /// Reads a code in any case, with or without the dash in the middle.
    pub fn parse(text: &str) -> Option<Self> {
        let letters: String =
            text.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect();
        let fits = letters.len() == 8 && letters.bytes().all(|letter| ALPHABET.contains(&letter));
        fits.then_some(Self(letters))
    }

    /// The code that a random number stands for.
    pub fn from_entropy(entropy: u64) -> Self {
        Self((0..8).map(|place| char::from(ALPHABET[(entropy >> (5 * place)) as usize & 31])).collect())
    }
}

impl FromStr for PairingCode {
    type Err = NotACode;
    fn from_str(text: &str) -> Result<Self, NotACode> {
        Self::parse(text).ok_or(NotACode)
    }
}

impl fmt::Display for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", &self.0[..4], &self.0[4..])
    }
}

impl fmt::Debug for PairingCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The code of an ask: five letters from `a` to `z` without `l`, which looks like a one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code([u8; 5]);

const CODE_LETTERS: &[u8; 25] = b"abcdefghijkmnopqrstuvwxyz";

impl Code {
    /// Reads a code in any case: phones like to capitalise.
    pub fn parse(text: &str) -> Option<Self> {
        let mut letters: [u8; 5] = text.as_bytes().try_into().ok()?;
        letters.make_ascii_lowercase();
        letters.iter().all(|letter| CODE_LETTERS.contains(letter)).then_some(Self(letters))
    }

    /// The code that a random number stands for.
    pub fn from_entropy(entropy: u64) -> Self {
        let mut rest = entropy;
        Self(std::array::from_fn(|_| {
            let letter = CODE_LETTERS[(rest % 25) as usize];
            rest /= 25;
            letter
        }))
    }
}

impl FromStr for Code {
    type Err = NotACode;
    fn from_str(text: &str) -> Result<Self, NotACode> {
        Self::parse(text).ok_or(NotACode)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.0).unwrap_or_default())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_sort_by_birth() {
        let early = EventId::new(Moment(5), u128::MAX);
        let late = EventId::new(Moment(6), 0);
        assert!(early < late);
        assert!(early.to_string() < late.to_string());
    }

    #[test]
    fn a_code_has_no_l_and_ignores_case() {
        assert_eq!(Code::parse("AbCdE").map(|code| code.to_string()).as_deref(), Some("abcde"));
        for wrong in ["abcdl", "abcd", "abcdef", "abc e", "ABCDL", "äbcd", ""] {
            assert_eq!(Code::parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn ids_survive_being_written(at in 0_u64..1 << 48, entropy: u128) {
            let id = AskId::new(Moment(at), entropy);
            prop_assert_eq!(id.to_string().parse::<AskId>(), Ok(id));
        }

        #[test]
        fn any_text_is_an_id_or_not_but_never_a_panic(text: String) {
            if let Ok(id) = text.parse::<EventId>() {
                prop_assert_eq!(id.to_string(), text.to_ascii_lowercase());
            }
        }

        #[test]
        fn every_number_stands_for_a_code(entropy: u64) {
            let code = Code::from_entropy(entropy);
            prop_assert_eq!(Code::parse(&code.to_string()), Some(code));
        }
    }
}
