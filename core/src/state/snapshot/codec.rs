//! Values as bytes and back. Nobody but the program that wrote them reads them, so nothing in them says what they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use crate::few::Few;

/// A value that a snapshot holds.
pub(in crate::state) trait Saved: Sized {
    fn save(&self, out: &mut Vec<u8>);

    /// None where the bytes are not what [`Saved::save`] writes.
    fn load(from: &mut SavedBytes<'_>) -> Option<Self>;
}

/// What is still to be read.
pub(in crate::state) struct SavedBytes<'a>(pub(super) &'a [u8]);

impl<'a> SavedBytes<'a> {
    pub(in crate::state) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(in crate::state) fn text(&mut self) -> Option<&'a str> {
        let length = usize::load(self)?;
        std::str::from_utf8(self.take(length)?).ok()
    }
}

pub(in crate::state) fn save_text(text: &str, out: &mut Vec<u8>) {
    text.len().save(out);
    out.extend_from_slice(text.as_bytes());
}

fn load_all<T: Saved, C: FromIterator<T>>(from: &mut SavedBytes<'_>) -> Option<C> {
    let count = usize::load(from)?;
    (0..count).map(|_| T::load(from)).collect()
}

/// Seven bits to a byte: most numbers are small.
impl Saved for u64 {
    fn save(&self, out: &mut Vec<u8>) {
        let mut rest = *self;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = u8::load(from)?;
            value |= Self::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Saved for u8 {
    fn save(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        from.take(1)?.first().copied()
    }
}

impl Saved for bool {
    fn save(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        match u8::load(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Saved for u128 {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        Some(Self::from_le_bytes(from.take(16)?.try_into().ok()?))
    }
}

impl Saved for [u8; 32] {
    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        from.take(32)?.try_into().ok()
    }
}

impl Saved for String {
    fn save(&self, out: &mut Vec<u8>) {
        save_text(self, out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        from.text().map(str::to_owned)
    }
}

impl<T: Saved> Saved for Option<T> {
    fn save(&self, out: &mut Vec<u8>) {
        self.is_some().save(out);
        if let Some(value) = self {
            value.save(out);
        }
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        if bool::load(from)? { T::load(from).map(Some) } else { Some(None) }
    }
}

impl<A: Saved, B: Saved> Saved for (A, B) {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.save(out);
        self.1.save(out);
    }

    fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
        Some((A::load(from)?, B::load(from)?))
    }
}

macro_rules! saved_lists {
    ($($list:ident $(: $bound:ident)?),+) => {$(
        impl<T: Saved $(+ $bound)?> Saved for $list<T> {
            fn save(&self, out: &mut Vec<u8>) {
                self.len().save(out);
                self.iter().for_each(|item| item.save(out));
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                load_all(from)
            }
        }
    )+};
}

saved_lists!(Vec, VecDeque, Few, BTreeSet: Ord);

macro_rules! saved_maps {
    ($($map:ident: $($bound:ident)|+),+) => {$(
        impl<K: Saved $(+ $bound)+, V: Saved> Saved for $map<K, V> {
            fn save(&self, out: &mut Vec<u8>) {
                self.len().save(out);
                for (key, value) in self {
                    key.save(out);
                    value.save(out);
                }
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                load_all(from)
            }
        }
    )+};
}

saved_maps!(BTreeMap: Ord, HashMap: Eq | Hash);

/// Small numbers, as large ones.
macro_rules! saved_numbers {
    ($($number:ty),+) => {$(
        impl Saved for $number {
            fn save(&self, out: &mut Vec<u8>) {
                (*self as u64).save(out);
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                u64::load(from)?.try_into().ok()
            }
        }
    )+};
}

saved_numbers!(usize, u32);

/// What stands behind a pointer.
macro_rules! saved_pointers {
    ($($pointer:ident),+) => {$(
        impl<T: Saved> Saved for $pointer<T> {
            fn save(&self, out: &mut Vec<u8>) {
                T::save(self, out);
            }

            fn load(from: &mut SavedBytes<'_>) -> Option<Self> {
                T::load(from).map(Self::new)
            }
        }
    )+};
}

saved_pointers!(Box, Arc);
