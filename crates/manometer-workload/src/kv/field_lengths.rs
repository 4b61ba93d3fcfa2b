//! The lengths of the fields of a record, where they vary.

use std::path::Path;

use manometer_measure::regular_file;
use rand_xoshiro::rand_core::Rng as _;

use super::distribution::{IntegerDistribution, Random};
use super::error::KvError;
use crate::settings_file::MOST_FILE_BYTES;

/// The length of a record of several fields, each drawn independently.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldLengths {
    /// Fields of a record.
    pub fields: u32,
    /// The length of each.
    pub each: FieldLength,
}

/// The length of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldLength {
    /// Between two bounds.
    Range(IntegerDistribution),
    /// By a histogram.
    Histogram(LengthHistogram),
}

impl FieldLengths {
    /// The length of the next record.
    pub fn draw(&self, random: &mut Random) -> usize {
        let fields = 0..self.fields;
        let length: u64 = match &self.each {
            FieldLength::Range(between) => fields.map(|_| between.draw(random)).sum(),
            FieldLength::Histogram(histogram) => fields.map(|_| histogram.draw(random)).sum(),
        };
        length as usize
    }

    /// The longest.
    pub fn max(&self) -> usize {
        let each = match &self.each {
            FieldLength::Range(between) => between.bounds().1,
            FieldLength::Histogram(histogram) => histogram.max(),
        };
        each.saturating_mul(u64::from(self.fields)) as usize
    }

    /// The length on average.
    pub fn mean(&self) -> f64 {
        let each = match &self.each {
            FieldLength::Range(between) => between.mean(),
            FieldLength::Histogram(histogram) => histogram.mean(),
        };
        each * f64::from(self.fields)
    }

    /// Their name in a database's marker.
    pub fn name(&self) -> String {
        match &self.each {
            FieldLength::Range(between) => {
                let (min, max) = between.bounds();
                let form = if matches!(between, IntegerDistribution::Uniform { .. }) { "uniform" } else { "zipfian" };
                format!("{} fields of {form} {min} to {max} bytes", self.fields)
            }
            FieldLength::Histogram(histogram) => {
                format!("{} fields of {} bytes by histogram", self.fields, histogram.mean())
            }
        }
    }
}

/// Lengths by how often they come, from a file as YCSB's `fieldlengthhistogram`: a line of `BlockSize`, a tab
/// and a number of bytes; then a line for every bucket from 0 on, its number, a tab and how often it comes.
/// A field of bucket b is b + 1 blocks long.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthHistogram {
    block_bytes: u64,
    /// For every bucket, how often a field is of it or of one before.
    up_to: Vec<u64>,
}

impl LengthHistogram {
    /// Reads the file at `path`.
    pub(super) fn of_file(path: &Path) -> Result<Self, KvError> {
        let bad = |line: usize, reason: &str| KvError::BadHistogram {
            place: if line == 0 { path.display().to_string() } else { format!("{}:{line}", path.display()) },
            reason: reason.to_owned(),
        };
        let text = regular_file::read_text(path, MOST_FILE_BYTES).map_err(|error| bad(0, &error.to_string()))?;
        Self::of_text(&text).map_err(|(line, reason)| bad(line, &reason))
    }

    /// Parses the text of such a file; an error has its line.
    fn of_text(text: &str) -> Result<Self, (usize, String)> {
        let mut lines = (1..).zip(text.lines());
        let head = lines.next().and_then(|(_, line)| line.strip_prefix("BlockSize\t")?.trim().parse().ok());
        let block_bytes = head.filter(|bytes| (1..=1 << 32).contains(bytes));
        let block_bytes = block_bytes.ok_or((1, "expected `BlockSize`, a tab and a number of bytes".to_owned()))?;
        let (mut up_to, mut all) = (Vec::new(), 0_u64);
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let wanted = up_to.len();
            let count = line.split_once('\t').filter(|(bucket, _)| bucket.parse() == Ok(wanted));
            let count = count.and_then(|(_, count)| count.trim().parse::<u32>().ok());
            let count = count.ok_or_else(|| (number, format!("expected `{wanted}`, a tab and how often")))?;
            all += u64::from(count);
            up_to.push(all);
        }
        if all == 0 {
            return Err((0, "no bucket has a count above 0".to_owned()));
        }
        Ok(Self { block_bytes, up_to })
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let all = self.up_to.last().copied().unwrap_or(1);
        let at = ((u128::from(random.next_u64()) * u128::from(all)) >> 64) as u64;
        (self.up_to.partition_point(|up_to| *up_to <= at) as u64 + 1) * self.block_bytes
    }

    /// The length of the last bucket that has any.
    fn max(&self) -> u64 {
        let all = self.up_to.last().copied().unwrap_or(1);
        (self.up_to.partition_point(|up_to| *up_to < all) as u64 + 1) * self.block_bytes
    }

    fn mean(&self) -> f64 {
        let all = self.up_to.last().copied().unwrap_or(1) as f64;
        // A bucket is left out of the lengths of all before it.
        let blocks: f64 = self.up_to.iter().map(|up_to| (all - *up_to as f64) / all).sum();
        (blocks + 1.0) * self.block_bytes as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::distribution::stream;

    #[test]
    fn a_histogram_gives_its_lengths_as_often_as_it_says() {
        let histogram = LengthHistogram::of_text("BlockSize\t10\n0\t1\n1\t0\n2\t3\n3\t0\n").unwrap();
        assert_eq!((histogram.max(), histogram.mean()), (30, 25.0));
        let mut random = stream(1, 0);
        let lengths: Vec<u64> = (0..10_000).map(|_| histogram.draw(&mut random)).collect();
        let short = lengths.iter().filter(|length| **length == 10).count();
        assert_eq!(lengths.iter().filter(|length| **length == 30).count(), 10_000 - short);
        // Six standard deviations.
        assert!((short as f64 - 2500.0).abs() < 260.0, "{short}");
        let record = FieldLengths { fields: 4, each: FieldLength::Histogram(histogram) };
        assert_eq!((record.max(), record.mean()), (120, 100.0));
    }

    #[test]
    fn a_garbled_histogram_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("Block\t10\n", 1),
            ("BlockSize\t0\n0\t1", 1),
            ("BlockSize 10\n0\t1", 1),
            ("BlockSize\t10\n1\t1", 2),
            ("BlockSize\t10\n0\t1\n0\t1", 3),
            ("BlockSize\t10\n0\tmany", 2),
            ("BlockSize\t10\n0 1", 2),
            ("BlockSize\t10\n0\t0", 0),
            ("BlockSize\t10\n", 0),
        ] {
            assert_eq!(LengthHistogram::of_text(text).unwrap_err().0, line, "{text:?}");
        }
        let error = LengthHistogram::of_file(Path::new("/nowhere/hist.txt")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/hist.txt"), "{error}");
    }
}
