//! Crashes, load, damaged files and hostile input: nothing accepted is lost, and nothing unapproved runs.

mod crash;
mod disk;
mod fuzz;
mod journal_files;
mod known_faults;
mod load;
mod old_journal;
mod rules_against_bash;
mod rules_against_claude;
mod snapshots;
