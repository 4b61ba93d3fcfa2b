//! The tools that read the health of a disk.

use std::time::Duration;

use crate::program::{self, Output, ProgramError};

/// How long a tool may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The tools, and how long each may take.
#[derive(Debug, Clone)]
pub(super) struct Tools {
    pub smartctl: String,
    pub nvme: String,
    limit: Duration,
}

impl Default for Tools {
    fn default() -> Self {
        Self { smartctl: "smartctl".to_owned(), nvme: "nvme".to_owned(), limit: LIMIT }
    }
}

impl Tools {
    /// Runs `program` with `arguments` and returns what it printed, with any exit status.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, ProgramError> {
        program::run(program, arguments, self.limit)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::process::Command;

    use super::super::disk::SmartDisk;
    use super::*;

    /// A tool made for a test.
    pub struct Script(tempfile::TempDir);

    impl Script {
        pub fn printing(text: &str, status: i32) -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            script.now_prints(text, status);
            script
        }

        /// A tool that prints the file named like its first argument, and fails if there is none.
        pub fn of_verbs(files: &[(&str, &str)]) -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            files.iter().for_each(|(verb, text)| fs::write(script.0.path().join(verb), text).unwrap());
            script.write("if [ -f \"$1\" ]; then cat \"$1\"; else echo \"$3: no such log\" >&2; exit 1; fi");
            script
        }

        /// A tool that would answer in a quarter of an hour.
        pub fn hanging() -> Self {
            let script = Self(tempfile::tempdir().unwrap());
            script.write("exec sleep 900");
            script
        }

        pub fn now_prints(&self, text: &str, status: i32) {
            fs::write(self.0.path().join("output"), text).unwrap();
            self.write(&format!("cat output; exit {status}"));
        }

        /// Has another process write the program down: one that this process has open for writing, even in a child
        /// that is being started elsewhere, could not be run.
        fn write(&self, doing: &str) {
            let dir = self.0.path();
            let text = format!("#!/bin/sh\ncd '{}'\necho run >> runs\n{doing}\n", dir.display());
            let mut shell = Command::new("sh");
            shell.args(["-c", "printf %s \"$1\" > part && chmod 755 part && mv part smartctl", "sh", &text]);
            assert!(shell.current_dir(dir).status().unwrap().success());
        }

        pub fn runs(&self) -> usize {
            fs::read_to_string(self.0.path().join("runs")).unwrap_or_default().lines().count()
        }

        /// This tool alone.
        pub fn tools(&self) -> Tools {
            Tools { smartctl: self.0.path().join("smartctl").display().to_string(), ..Tools::missing() }
        }

        /// This tool as `nvme` alone.
        pub fn as_nvme(&self) -> Tools {
            Tools { nvme: self.tools().smartctl, ..Tools::missing() }
        }

        /// This tool alone, with next to no time.
        pub fn hurried_tools(&self) -> Tools {
            Tools { limit: Duration::from_millis(20), ..self.tools() }
        }
    }

    impl Tools {
        pub fn missing() -> Self {
            Self { smartctl: "/nowhere/smartctl".to_owned(), nvme: "/nowhere/nvme".to_owned(), limit: LIMIT }
        }
    }

    pub fn sata(path: &str) -> SmartDisk {
        SmartDisk::at(path, None)
    }
}
