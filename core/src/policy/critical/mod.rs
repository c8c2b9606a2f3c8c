//! What is asked for in every mode, whatever the rules say: changes of protected files, and removals that cannot be made
//! good.
//!
//! - [`safety`]: protected files; [`cleaning`] finds those that git removes
//! - [`pouring`], [`unpacking`], [`checking_out`]: what lands in a folder under names that do not stand in the line;
//!   [`people_places`]: where that decides for people
//! - [`removal`], [`critical_places`]: what is removed, and the places that are never removed unasked
//! - [`removers`], [`handed_removal`], [`through_links`]: programs that remove, and removals of what the line does not name

pub(super) mod checking_out;
pub(super) mod cleaning;
mod critical_places;
mod handed_removal;
mod people_places;
pub(super) mod pouring;
pub(super) mod removal;
mod removers;
mod removers_of_versions;
pub(super) mod safety;
pub(super) mod through_links;
pub(super) mod unpacking;
