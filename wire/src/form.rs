//! Serde forms of core's types inside options, lists and boxes.
//!
//! A form is a struct or enum with `#[serde(remote = "…")]`: it spells out how a core type is written, and is named in
//! `#[serde(with = "…")]`. `with = "Optional::<OfferForm>"` is for an `Option<Offer>`, and so on.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A form says how a core type is written and read.
pub trait Form {
    type Core;

    fn write<S: Serializer>(core: &Self::Core, serializer: S) -> Result<S::Ok, S::Error>;
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self::Core, D::Error>;
}

/// Makes forms of types that derive serde with `remote`.
macro_rules! forms {
    ($($form:ident of $core:ty),+ $(,)?) => {
        $(impl $crate::form::Form for $form {
            type Core = $core;

            fn write<S: serde::Serializer>(core: &$core, serializer: S) -> Result<S::Ok, S::Error> {
                Self::serialize(core, serializer)
            }

            fn read<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<$core, D::Error> {
                Self::deserialize(deserializer)
            }
        })+
    };
}

pub(crate) use forms;

pub struct Optional<F>(PhantomData<F>);
pub struct List<F>(PhantomData<F>);
pub struct Boxed<F>(PhantomData<F>);

impl<F: Form> Optional<F> {
    pub fn serialize<S: Serializer>(core: &Option<F::Core>, serializer: S) -> Result<S::Ok, S::Error> {
        core.as_ref().map(WriteForm::<F>).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<F::Core>, D::Error> {
        Ok(Option::<ReadForm<F>>::deserialize(deserializer)?.map(|ReadForm(core)| core))
    }
}

impl<F: Form> List<F> {
    pub fn serialize<S: Serializer>(core: &[F::Core], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(core.iter().map(WriteForm::<F>))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<F::Core>, D::Error> {
        Ok(Vec::<ReadForm<F>>::deserialize(deserializer)?.into_iter().map(|ReadForm(core)| core).collect())
    }
}

impl<F: Form> Boxed<F> {
    pub fn serialize<S: Serializer>(core: &F::Core, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(core, serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<F::Core>, D::Error> {
        F::read(deserializer).map(Box::new)
    }
}

struct WriteForm<'a, F: Form>(&'a F::Core);

impl<F: Form> Serialize for WriteForm<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        F::write(self.0, serializer)
    }
}

struct ReadForm<F: Form>(F::Core);

impl<'de, F: Form> Deserialize<'de> for ReadForm<F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        F::read(deserializer).map(Self)
    }
}
