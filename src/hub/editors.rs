//! Editors whose origin the system does not tell, and that a person says are theirs.

use portcullis_core::{Actor, Answer, Input, TrustedEditor};
use portcullis_wire::error::{Fault, Kind};

use super::{Hub, Trouble, fault_of};
use crate::processes::EditorProcess;

impl Hub {
    /// Lets a `portcullis acp` of this machine answer prompts from now on. Which process that is, is looked up here, and not
    /// believed of whoever asks.
    pub(crate) async fn trust_editor(&self, by: Actor, pid: u32) -> Result<TrustedEditor, Fault> {
        let looking = tokio::task::spawn_blocking(move || EditorProcess::of(pid)).await;
        let no_such = |why| Fault::new(Kind::NoSuchEditor, format!("process {pid} {why}"));
        let EditorProcess { process, what, .. } = looking.map_err(|_| Trouble::Stopping)?.map_err(no_such)?;
        let trusted = Input::TrustEditor { by, process: process.clone(), what };
        if let Answer::Refused(refusal) = self.submit(trusted).await? {
            return Err(fault_of(&refusal));
        }
        let find = move |state: &portcullis_core::State| {
            state.trusted_editors().find(|editor| editor.process == process).cloned()
        };
        self.look(find).await?.ok_or_else(|| no_such("is no longer trusted"))
    }
}
