//! A serde helper for core's types that have a type of their own on the wire: written by `From`, read by `TryFrom`.
//!
//! `#[serde(with = "AsWire::<core::Ruling, Ruling>")]` is for a value and for a boxed one.

use std::fmt::Display;
use std::marker::PhantomData;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `C` is core's type, `W` the wire's.
pub struct AsWire<C, W>(PhantomData<(C, W)>);

impl<C, W> AsWire<C, W> {
    pub fn serialize<H, S>(value: &H, serializer: S) -> Result<S::Ok, S::Error>
    where
        H: Holds<C>,
        S: Serializer,
        W: for<'a> From<&'a C> + Serialize,
    {
        W::from(value.held()).serialize(serializer)
    }

    pub fn deserialize<'de, H, D>(deserializer: D) -> Result<H, D::Error>
    where
        H: Holds<C>,
        D: Deserializer<'de>,
        W: Deserialize<'de> + TryInto<C, Error: Display>,
    {
        W::deserialize(deserializer)?.try_into().map(H::holding).map_err(D::Error::custom)
    }
}

/// A value, or a box with one.
pub trait Holds<C> {
    fn held(&self) -> &C;
    fn holding(value: C) -> Self;
}

impl<C> Holds<C> for C {
    fn held(&self) -> &C {
        self
    }

    fn holding(value: C) -> Self {
        value
    }
}

impl<C> Holds<C> for Box<C> {
    fn held(&self) -> &C {
        self
    }

    fn holding(value: C) -> Self {
        Self::new(value)
    }
}
