//! A command at a terminal: what it shows is read, what a person would type is written.

use super::seen::{OrFail, PATIENCE, Seen};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;

pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// Everything shown so far, as of each piece.
    screen: Seen<String>,
    reader: Option<JoinHandle<()>>,
}

impl Terminal {
    /// A command whose own terminal this is, as in a window: its keys may become signals.
    #[track_caller]
    pub(crate) fn controlling(command: &Command) -> Self {
        let mut whole = Command::new("setsid");
        whole.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        whole.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            whole.current_dir(folder);
        }
        Self::start(whole)
    }

    #[track_caller]
    pub(crate) fn start(command: Command) -> Self {
        Self::start_wide(command, 80)
    }

    /// A terminal of so many columns.
    #[track_caller]
    pub(crate) fn start_wide(mut command: Command, columns: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        let size = rustix::termios::Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&master, size).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let screen_side = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        for set in [Command::stdin, Command::stdout, Command::stderr] {
            set(&mut command, Stdio::from(screen_side.try_clone().unwrap()));
        }
        let child = command.spawn().unwrap();
        // Only the child may hold its side: then its end is the end of what can be read.
        drop((screen_side, command));
        let keyboard = File::from(master);
        let screen = Seen::new();
        let (mut from, to) = (keyboard.try_clone().unwrap(), screen.clone());
        let reader = std::thread::spawn(move || {
            let (mut shown, mut piece) = (String::new(), [0; 4096]);
            // Linux ends a terminal with an error, others with nothing.
            while let Ok(read @ 1..) = from.read(&mut piece) {
                shown.push_str(&String::from_utf8_lossy(&piece[..read]));
                to.push(shown.clone());
            }
            to.end();
        });
        Self { child, keyboard, screen, reader: Some(reader) }
    }

    /// Waits until this is shown, and answers all that is.
    #[track_caller]
    pub(crate) fn until(&self, text: &str) -> String {
        let found = self.screen.find(PATIENCE, |shown| shown.contains(text));
        found.or_fail(|missed| format!("waiting for {text:?}: {missed}; shown so far:\n{:?}", self.screen.all().last()))
    }

    /// Without the Enter at the end.
    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        self.type_keys(&format!("{line}\n"));
    }

    /// Ctrl-C: the terminal tells whoever runs in the foreground of it. For a command that it controls.
    pub(crate) fn interrupt(&mut self) {
        self.keyboard.write_all(b"\x03").unwrap();
    }

    /// Ctrl-D on an empty line.
    pub(crate) fn end_of_input(&mut self) {
        self.keyboard.write_all(b"\x04").unwrap();
    }

    /// Waits for its end, and answers all that was shown.
    #[track_caller]
    pub(crate) fn shown_whole(self) -> String {
        let screen = self.screen.clone();
        self.wait();
        screen.all().pop().unwrap_or_default().replace('\r', "")
    }

    #[track_caller]
    pub(crate) fn wait(mut self) -> ExitStatus {
        assert!(self.screen.ends(PATIENCE), "it did not end; shown so far:\n{:?}", self.screen.all().last());
        let status = self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
