//! What the gate's parts say went wrong, as the one error that people read.

use std::error::Error as _;

use portcullis_wire::error::Fault;

use crate::failure::Failure;
use crate::store::OpenError;

/// The gate said no.
impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let hint = fault.command_line_hint();
        match fault.status() {
            403 => Self::denied(fault.message, hint),
            404 => Self::not_found(fault.message, hint),
            503 => Self::unavailable(fault.message, hint),
            _ => Self::new(fault.message, hint),
        }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let failure = Self::new(error.to_string(), error.hint());
        match error.source() {
            Some(cause) => failure.because(cause.to_string()),
            None => failure,
        }
    }
}
