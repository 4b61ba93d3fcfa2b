//! The pages of many recordings: an overview, and a page for each of them beside it.

use std::io;
use std::path::{Path, PathBuf};

use manometer_measure::Directory;

use super::contents::{self, Entry};
use super::{GENERATOR, IN_RECORDING, all_runs, document, html, overview, run, small_scales, specs};
use crate::run_names::names;
use crate::{AnalysedRecording, ReportError};

/// The most recordings that one page shows in full; of more, each has its own page.
pub const RUNS_MAX: usize = 8;

/// The largest file that may be a page.
const MOST_PAGE_BYTES: u64 = 1 << 30;

/// The pages of many recordings.
#[derive(Debug)]
pub struct RunPages<'a> {
    recordings: &'a [AnalysedRecording],
    /// The file of the overview.
    overview: &'a Path,
    names: Vec<String>,
}

impl<'a> RunPages<'a> {
    /// The pages of `recordings`, with the overview in the file `overview`.
    pub fn new(recordings: &'a [AnalysedRecording], overview: &'a Path) -> Self {
        Self { recordings, overview, names: names(recordings) }
    }

    /// The name of the folder of the runs' pages, which is in the folder of the overview: `report-runs` for `report.html`.
    pub fn folder(&self) -> String {
        folder_name(self.overview)
    }

    /// The file of the run at `index`, from the folder of the overview.
    pub fn file(&self, index: usize) -> PathBuf {
        Path::new(&self.folder()).join(file_name(index))
    }

    /// The overview: what all runs say together, a table of them, heat maps, and the pressure scale of each.
    ///
    /// # Errors
    /// There is no recording.
    pub fn overview(&self) -> Result<String, ReportError> {
        let first = self.recordings.first().ok_or(ReportError::NoRecording)?;
        let link = |index: usize| html::link(&format!("{}/{}", folder_name(self.overview), file_name(index)));
        let links: Vec<String> = (0..self.recordings.len()).map(link).collect();
        let joined = all_runs::charts(self.recordings, true);
        let scales = small_scales::section(self.recordings, &self.names, &links);
        let mut entries = Vec::new();
        entries.extend((!scales.is_empty()).then(|| Entry::of("#scales", "Pressure scales")));
        entries.push(Entry::of("#runs", "All runs"));
        entries.extend(joined.entries);
        let columns = format!(
            "{}<main>\n{}{scales}{}{}</main>\n",
            contents::nav(&entries),
            overview::head(self.recordings),
            overview::table(self.recordings, &self.names, &links),
            joined.html,
        );
        Ok(document(&first.summary.experiment, &columns, &specs(&joined.drawn), IN_RECORDING))
    }

    /// The page of the run at `index`, with links to the overview and to the runs beside it.
    ///
    /// # Errors
    /// There is no such run, or a path cannot be made absolute.
    pub fn run(&self, index: usize) -> Result<String, ReportError> {
        let recorded = self.recordings.get(index).ok_or(ReportError::NoRecording)?;
        let folder = self.overview.with_file_name(self.folder());
        let place = run::RecordingPosition { number: 1, several: false, folder: &folder };
        let article = run::article(recorded, &place)?;
        let columns =
            format!("{}<main>\n{}{}</main>\n", contents::nav(&article.entries), self.way(index), article.html);
        Ok(document(&self.names[index], &columns, &specs(&article.drawn), IN_RECORDING))
    }

    /// Links from the run at `index` to the overview and to the runs before and after it.
    fn way(&self, index: usize) -> String {
        let overview = self.overview.file_name().unwrap_or_default().to_string_lossy();
        let link = |index: usize, words: &str| format!(" <a href=\"{}\">{words}</a>", html::link(&file_name(index)));
        let before = index.checked_sub(1).map(|before| link(before, "the run before"));
        let after = (index + 1 < self.recordings.len()).then(|| link(index + 1, "the run after"));
        format!(
            "{WAY}{} of {}</strong>: {} <a href=\"../{}\">all runs</a>{}{}</p>\n",
            index + 1,
            self.recordings.len(),
            html::escape(&self.names[index]),
            html::link(&overview),
            before.unwrap_or_default(),
            after.unwrap_or_default(),
        )
    }
}

/// How the links of a run's page begin.
const WAY: &str = "<p class=\"way\"><strong>Run ";

/// The pages of runs, from the folder `directory`, that an earlier report over more than `runs` runs left there beside the
/// report `overview`.
///
/// # Errors
/// The folder of the pages, or a file in it that could be one, cannot be read.
pub fn stale_pages(directory: &Directory, overview: &Path, runs: usize) -> io::Result<Vec<PathBuf>> {
    let folder = folder_name(overview);
    let entries = match directory.directory(&folder).and_then(|pages| pages.entries()) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Vec::new(),
        entries => entries?,
    };
    let mut stale = Vec::new();
    for (name, kind) in entries {
        let number = name.to_str().and_then(|name| name.strip_suffix(".html")?.parse::<usize>().ok());
        let Some(index) = number.and_then(|number| number.checked_sub(1)).filter(|index| *index >= runs) else {
            continue;
        };
        // Whatever else has such a name is somebody's.
        if name == *file_name(index) && kind.is_file() {
            let page = Path::new(&folder).join(name);
            let text = directory.read_all(&page, MOST_PAGE_BYTES)?;
            let text = String::from_utf8_lossy(&text);
            if text.contains(GENERATOR) && text.contains(WAY) {
                stale.push(page);
            }
        }
    }
    Ok(stale)
}

fn folder_name(overview: &Path) -> String {
    format!("{}-runs", overview.file_stem().unwrap_or_default().to_string_lossy())
}

/// The name of the page of the run at `index`.
fn file_name(index: usize) -> String {
    format!("{:03}.html", index + 1)
}
