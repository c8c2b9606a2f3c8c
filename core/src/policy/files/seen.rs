//! A name as the files that it may be, seen from each folder in which a line may run.

use super::touching::{MOST, Touch, Toucher};
use crate::policy::shell::{ANY, OUTER, STAR};
use crate::policy::words::path::{absolute, has_dots, with_dots};
use crate::policy::words::processes::{is_open, without_proc};

impl Toucher<'_> {
    /// Takes in the files that a name may be.
    pub(crate) fn name(&mut self, name: &str, touch: &Touch) {
        if name.len() > 4_096 || name.chars().all(|c| c == ANY) || self.touched.len() > MOST {
            return;
        }
        // What the environment knows may be any name of a file below a folder that stands there, or any folder above one.
        if name.contains(OUTER) {
            let below = name.trim_start_matches(OUTER);
            match below.len() == name.len() {
                true => self.name(&name.replace(OUTER, &STAR.to_string()), touch),
                false if below.starts_with('/') && !below.contains(OUTER) => self.name(&format!("{ANY}{below}"), touch),
                false => {}
            }
        }
        // What a command prints there may be nothing. A whole path behind it may begin anywhere as it is.
        let behind = name.trim_start_matches(ANY);
        if behind.len() < name.len() && !behind.is_empty() && !behind.starts_with(['/', OUTER]) {
            self.name(behind, touch);
        }
        for folder in self.folders.clone() {
            self.name_from(&without_proc(name, &folder), &folder, touch);
        }
    }

    fn name_from(&mut self, name: &str, folder: &str, touch: &Touch) {
        // What begins with what nobody knows may begin anywhere.
        let path = match name.starts_with(ANY) {
            true => Some(name.to_owned()),
            false => absolute(name, folder, self.context.home.as_deref()),
        };
        // `~+` and `~-` are folders one is or was in, and another's home may be one's own.
        let Some(path) = path.or_else(|| {
            let (user, below) = name.split_once('/').unwrap_or((name, ""));
            let is_here = user.starts_with("~+") || user.starts_with("~-");
            let home = if is_here { Some(folder) } else { self.context.home.as_deref() };
            absolute(below, home?, None)
        }) else {
            return;
        };
        let through = without_proc(&path, folder);
        if is_open(&through) {
            self.touched.insert(Touch { path: ANY.to_string(), ..touch.clone() });
        }
        if through != path {
            self.touched.insert(Touch { path: through, ..touch.clone() });
        }
        if has_dots(name) {
            let path = with_dots(name, folder, self.context.home.as_deref());
            self.touched.insert(Touch { path, ..touch.clone() });
        }
        if let Some(made) = self.call.expansion(&path) {
            for path in made {
                self.touched.insert(Touch { path: path.clone(), ..touch.clone() });
            }
            // A pattern that finds nothing stands for itself.
            if !path.contains(ANY) && !made.is_empty() {
                return;
            }
        }
        self.touched.insert(Touch { path, ..touch.clone() });
    }
}
