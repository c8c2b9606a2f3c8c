//! The macro `names!` gives each variant of a closed enum its name, which people read and frames and records hold.

use std::fmt;

/// The text names no variant of the enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// The names there are.
    pub expected: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of: {}", self.expected.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// Gives an enum `ALL`, `name()`, `named()`, `Display` and `FromStr` from one list. A second name after `|` is read and
/// never written.
macro_rules! names {
    ($enum:ident { $($variant:ident = $name:literal $(| $other:literal)*),+ $(,)? }) => {
        impl $enum {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $other)* => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $enum {
            type Err = $crate::names::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::named(name).ok_or($crate::names::UnknownName { expected: &[$($name),+] })
            }
        }
    };
}

pub(crate) use names;

#[cfg(test)]
mod tests {
    use crate::policy::Mode;

    #[test]
    fn a_variant_is_read_by_every_name_it_has_and_written_by_the_first() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("manual".parse(), Ok(Mode::Default));
        assert_eq!(Mode::Default.to_string(), "default");
        let error = "always".parse::<Mode>().unwrap_err();
        assert_eq!(error.to_string(), "expected one of: default, acceptEdits, plan, dontAsk, auto, bypassPermissions");
    }
}
