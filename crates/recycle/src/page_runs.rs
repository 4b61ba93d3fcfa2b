//! Pages that lie together in the file.

use std::ops::Range;

/// The places in `pages` of pages that follow each other, at most `most` in a piece.
pub(crate) fn consecutive(pages: &[u64], most: u64) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (index, page) in pages.iter().enumerate() {
        match spans.last_mut() {
            Some(span) if pages[span.end - 1] + 1 == *page && (span.len() as u64) < most => span.end = index + 1,
            _ => spans.push(index..index + 1),
        }
    }
    spans
}

/// The ranges that these pages, in ascending order, lie in, where gaps of up to `most` pages do not separate.
pub(crate) fn near(pages: &[u64], most: u64) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for page in pages {
        match ranges.last_mut() {
            Some(range) if *page - range.end <= most => range.end = page + 1,
            _ => ranges.push(*page..page + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_up_to_the_longest_run() {
        assert_eq!(consecutive(&[], 4), []);
        assert_eq!(consecutive(&[3, 4, 5, 9, 11, 12], 4), [0..3, 3..4, 4..6]);
        assert_eq!(consecutive(&[0, 1, 2], 2), [0..2, 2..3]);
    }

    #[test]
    fn near_pages_are_protected_together() {
        assert_eq!(near(&[], 10), []);
        assert_eq!(near(&[1, 2, 5, 40], 10), [1..6, 40..41]);
        assert_eq!(near(&[0, 11, 30], 10), [0..12, 30..31]);
    }
}
