//! A headless Chromium that opens pages from files and reports the result.

use std::path::{Path, PathBuf};
use std::process::Command;

use manometer_testing::{Cause, skip};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Virtual milliseconds that a page may take; the browser skips idle ones.
const BUDGET_MS: u32 = 60_000;

pub struct Browser {
    program: PathBuf,
}

/// The colours that the reader prefers.
#[derive(Clone, Copy)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn argument(self) -> &'static str {
        match self {
            Self::Light => "--blink-settings=preferredColorScheme=1",
            Self::Dark => "--blink-settings=preferredColorScheme=0",
        }
    }
}

impl Browser {
    /// The browser on this host. Skips the test where there is none.
    pub fn find() -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = std::env::split_paths(&path).flat_map(|dir| NAMES.map(|name| dir.join(name)));
        let program = all.into_iter().find(|program| program.is_file());
        if program.is_none() {
            skip(Cause::Chromium, "no Chromium on the PATH");
        }
        Some(Self { program: program? })
    }

    /// Opens the page at `path` in a frame `width` pixels wide (a window can be no narrower than some
    /// 500), and returns the document once it stands still.
    pub fn open_in_frame(&self, path: &Path, width: u32, scheme: Scheme) -> String {
        let around = path.with_extension("frame.html");
        let name = path.file_name().unwrap().to_str().unwrap();
        let frame = include_str!("frame.html").replace("{{width}}", &width.to_string()).replace("{{page}}", name);
        std::fs::write(&around, frame).unwrap();
        self.dump(&around, scheme)
    }

    /// Uses the page at `path` in a frame of `width` by `height` pixels as its reader does, by pointer and by keys, and returns
    /// the document with what that showed.
    pub fn read_in_frame(&self, path: &Path, [width, height]: [u32; 2]) -> String {
        let around = path.with_extension("reader.html");
        let name = path.file_name().unwrap().to_str().unwrap();
        let frame = include_str!("reader.html")
            .replace("{{width}}", &width.to_string())
            .replace("{{height}}", &height.to_string())
            .replace("{{page}}", name);
        std::fs::write(&around, frame).unwrap();
        self.dump(&around, Scheme::Light)
    }

    /// Searches and sorts the overview at `path`, and returns the document with what that showed.
    pub fn search_in_frame(&self, path: &Path, width: u32) -> String {
        let around = path.with_extension("search.html");
        let name = path.file_name().unwrap().to_str().unwrap();
        let frame = include_str!("search.html").replace("{{width}}", &width.to_string()).replace("{{page}}", name);
        std::fs::write(&around, frame).unwrap();
        self.dump(&around, Scheme::Light)
    }

    fn dump(&self, path: &Path, scheme: Scheme) -> String {
        let profile = tempfile::tempdir().unwrap();
        let output = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            // The frame around a page may look into it, though both are files.
            .args(["--allow-file-access-from-files", "--host-resolver-rules=MAP * ~NOTFOUND"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(scheme.argument())
            .arg(format!("--virtual-time-budget={BUDGET_MS}"))
            .args(["--window-size=1400,900", "--dump-dom"])
            .arg(format!("file://{}", path.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The value of the attribute `data-NAME` in a document.
pub fn attribute(document: &str, name: &str) -> Option<String> {
    let (_, after) = document.split_once(&format!("data-{name}=\""))?;
    after.split_once('"').map(|(value, _)| value.to_owned())
}
