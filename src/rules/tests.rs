//! Rules from files: taken whole or not at all, trusted by a person, read again when they change.
