//! Writes pages to the file: neighbours merged, runs at once.

use std::io::IoSlice;
use std::ops::Range;

use crate::core::Core;
use crate::counters::Event;
use crate::page_runs::consecutive;
use crate::storage::Run;
use crate::{Error, PAGE_BYTES};

/// Longest run, in pages: what a device takes in one piece.
const MAX_RUN: u64 = 256;

const PAGE: u64 = PAGE_BYTES as u64;

/// What became of a write.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Pages that are not in the file, in order.
    pub(crate) failed_pages: Vec<u64>,
    /// The first reason.
    pub(crate) error: Option<Error>,
}

impl Outcome {
    fn fail(&mut self, pages: impl IntoIterator<Item = u64>, error: Error) {
        self.failed_pages.extend(pages);
        self.error.get_or_insert(error);
    }
}

/// Writes pages that the caller holds for that, in ascending order: nobody else changes or evicts them meanwhile.
pub(crate) fn write_out(core: &Core, pages: &[u64]) -> Outcome {
    let mut outcome = Outcome::default();
    if pages.is_empty() {
        return outcome;
    }
    if let Some(mapped) = core.mapped()
        && let Err(source) = mapped.protect_all(pages)
    {
        outcome.fail(pages.iter().copied(), Error::io("write protection of pages", pages[0] * PAGE, PAGE)(source));
        return outcome;
    }
    let within = match pages_within_file(core, pages) {
        Ok(within) => within,
        Err(error) => {
            outcome.fail(pages.iter().copied(), error);
            return outcome;
        }
    };
    write_runs(core, &pages[..within], &mut outcome);
    if let Some(first) = pages.get(within) {
        let len = core.storage().len().unwrap_or(0);
        outcome.fail(pages[within..].iter().copied(), Error::Truncated { offset: first * PAGE, len });
    }
    core.slots().tally.add(Event::PagesWritten, (pages.len() - outcome.failed_pages.len()) as u64);
    core.slots().tally.add(Event::Failure, outcome.failed_pages.len() as u64);
    outcome
}

/// How many of the pages lie wholly within the file: writing others would make a truncated file longer again.
fn pages_within_file(core: &Core, pages: &[u64]) -> Result<usize, Error> {
    let len = core.storage().len().map_err(Error::io("examination", 0, 0))?;
    Ok(pages.partition_point(|page| page * PAGE + core.page_bytes(*page) as u64 <= len))
}

fn write_runs(core: &Core, pages: &[u64], outcome: &mut Outcome) {
    let bytes = |page: u64| {
        let address = core.address(page, core.cell(page).load());
        // SAFETY: the caller holds the page in memory and against change; the address is that of its bytes.
        unsafe { std::slice::from_raw_parts(address, core.page_bytes(page)) }
    };
    let buffers: Vec<IoSlice<'_>> = pages.iter().map(|page| IoSlice::new(bytes(*page))).collect();
    let spans = consecutive(pages, MAX_RUN);
    let run = |span: &Range<usize>| Run { offset: pages[span.start] * PAGE, buffers: &buffers[span.clone()] };
    let runs: Vec<Run<'_>> = spans.iter().map(run).collect();
    let written = core.storage().write_runs(&runs);
    for ((run, span), written) in runs.iter().zip(spans).zip(written) {
        if let Err(source) = written {
            let error = Error::io("write", run.offset, run.bytes() as u64)(source);
            outcome.fail(pages[span].iter().copied(), error);
        }
    }
}
