//! A list that most often has one item, which then needs no memory of its own.

use std::ops::Deref;

/// A few items, oldest first. It is read as a slice.
#[derive(Clone, Debug)]
pub struct Few<T>(Inner<T>);

#[derive(Clone, Debug)]
enum Inner<T> {
    None,
    One(T),
    Many(Vec<T>),
}

impl<T: PartialEq> Few<T> {
    /// Puts an item at the end that is not there yet. Of more than so many the oldest goes.
    pub(crate) fn remember(&mut self, item: T, most: usize) {
        if self.contains(&item) {
            return;
        }
        self.0 = match std::mem::replace(&mut self.0, Inner::None) {
            Inner::None => Inner::One(item),
            Inner::One(_) if most <= 1 => Inner::One(item),
            Inner::One(first) => Inner::Many(vec![first, item]),
            Inner::Many(mut items) => {
                if items.len() >= most {
                    items.remove(0);
                }
                items.push(item);
                Inner::Many(items)
            }
        };
    }

    pub(crate) fn forget(&mut self, item: &T) {
        match &mut self.0 {
            Inner::None => {}
            Inner::One(only) if only == item => self.0 = Inner::None,
            Inner::One(_) => {}
            Inner::Many(items) => items.retain(|kept| kept != item),
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Inner::None)
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Inner::None => &[],
            Inner::One(item) => std::slice::from_ref(item),
            Inner::Many(items) => items,
        }
    }
}

/// The same items, however they are kept.
impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut items = items.into_iter();
        let (first, second) = (items.next(), items.next());
        Self(match (first, second) {
            (None, _) => Inner::None,
            (Some(only), None) => Inner::One(only),
            (Some(first), Some(second)) => Inner::Many([first, second].into_iter().chain(items).collect()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_as_a_list_is(steps in prop::collection::vec((any::<bool>(), 0..6_u8), 0..40), most in 1..4_usize) {
            let (mut few, mut list) = (Few::default(), vec![]);
            for (is_put, item) in steps {
                if !is_put {
                    few.forget(&item);
                    list.retain(|kept| *kept != item);
                } else if !list.contains(&item) {
                    few.remember(item, most);
                    list.push(item);
                    list.drain(..list.len().saturating_sub(most));
                } else {
                    few.remember(item, most);
                }
                prop_assert_eq!(&*few, list.as_slice());
                prop_assert_eq!(&few, &list.iter().copied().collect::<Few<u8>>());
            }
        }
    }
}
