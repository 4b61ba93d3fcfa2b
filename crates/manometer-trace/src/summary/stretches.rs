//! The requested bytes of devices as disjoint extents, up to a limit.
//!
//! Above it devices are divided into regions, and a sample of the regions by their hashes is tracked.

use std::collections::BTreeMap;

use super::sampled::Estimate;
use crate::record::device_key;
use crate::transform::sample::SpatialFilter;

/// Size of a region in bytes.
const REGION_BYTES: u64 = 1 << 20;
/// The most regions of one request (1 TiB), and of all extents when sampling starts (256 TiB).
const REGIONS_MAX: u64 = 1 << 20;
const REGIONS_MAX_OF_ALL: u64 = 1 << 28;

/// The extents of each device: start and end.
type Map = BTreeMap<(u32, u64), u64>;

/// The requested bytes.
#[derive(Debug)]
pub(super) struct ExtentSet {
    stretches_max: usize,
    filter: SpatialFilter,
    map: Map,
    /// Whether a request during sampling was so long that its regions were not counted.
    too_long: bool,
}

impl ExtentSet {
    /// Tracks up to `stretches_max` extents exactly.
    pub(super) fn new(stretches_max: usize) -> Self {
        Self { stretches_max, filter: SpatialFilter::ALL, map: Map::new(), too_long: false }
    }

    /// Adds the bytes `from..to` of a device.
    pub(super) fn add(&mut self, device: u32, from: u64, to: u64) {
        if from >= to || self.too_long {
            return;
        }
        if self.filter == SpatialFilter::ALL {
            cover(&mut self.map, device, from, to);
        } else {
            self.add_sampled(device, from, to, REGIONS_MAX);
        }
        if self.map.len() > self.stretches_max {
            self.halve();
        }
    }

    /// The number of requested bytes.
    ///
    /// # Errors
    /// It is unknown; the text says why.
    pub(super) fn bytes(&self) -> Result<Estimate, String> {
        if self.too_long {
            return Err(format!(
                "requests reach over more than 1 TiB, or over 256 TiB together, among more than {} extents apart from \
                 one another",
                self.stretches_max
            ));
        }
        Ok(match self.filter == SpatialFilter::ALL {
            true => Estimate::of(self.map.iter().map(|((_, from), to)| to - from), 1.0),
            false => Estimate::of(self.regions().into_iter(), self.filter.rate()),
        })
    }

    /// The requested bytes in each tracked region; extents may span several.
    fn regions(&self) -> Vec<u64> {
        let mut regions: Vec<((u32, u64), u64)> = Vec::new();
        for (&(device, from), &to) in &self.map {
            for (region, from, to) in parts(from, to) {
                match regions.last_mut() {
                    Some((last, bytes)) if *last == (device, region) => *bytes += to - from,
                    _ => regions.push(((device, region), to - from)),
                }
            }
        }
        regions.into_iter().map(|(_, bytes)| bytes).collect()
    }

    /// Adds the sampled regions of an extent.
    fn add_sampled(&mut self, device: u32, from: u64, to: u64, regions_max: u64) {
        if regions_of(from, to) > regions_max {
            self.too_long = true;
            self.map.clear();
            return;
        }
        for (region, from, to) in parts(from, to) {
            if self.filter.keeps(device_key(device, region)) {
                cover(&mut self.map, device, from, to);
            }
        }
    }

    /// Drops about half of the regions.
    fn halve(&mut self) {
        self.filter = self.filter.halved();
        let old = std::mem::take(&mut self.map);
        let regions = old.iter().fold(0, |sum: u64, ((_, from), to)| sum.saturating_add(regions_of(*from, *to)));
        // One limit for all: the extents of the first sample are merged as they came.
        self.too_long = regions > REGIONS_MAX_OF_ALL;
        for ((device, from), to) in old {
            if self.too_long {
                return;
            }
            self.add_sampled(device, from, to, REGIONS_MAX_OF_ALL);
        }
    }
}

/// The number of regions that the bytes `from..to`, at least one, lie in.
fn regions_of(from: u64, to: u64) -> u64 {
    (to - 1) / REGION_BYTES - from / REGION_BYTES + 1
}

/// The part of `from..to` in each region: the region's number, start and end.
fn parts(from: u64, to: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (from / REGION_BYTES..=(to - 1) / REGION_BYTES).map(move |region| {
        let begin = region * REGION_BYTES;
        (region, from.max(begin), to.min(begin.saturating_add(REGION_BYTES)))
    })
}

/// Adds the bytes `from..to` of a device, and merges adjacent extents.
fn cover(stretches: &mut Map, device: u32, mut from: u64, mut to: u64) {
    if let Some((&(_, begin), &end)) = stretches.range((device, 0)..=(device, from)).next_back() {
        if end >= to {
            return;
        }
        if end >= from {
            from = begin;
        }
    }
    while let Some((&(_, begin), &end)) = stretches.range((device, from)..=(device, to)).next() {
        to = to.max(end);
        stretches.remove(&(device, begin));
    }
    stretches.insert((device, from), to);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use proptest::prelude::*;

    fn bytes(stretches: &ExtentSet) -> f64 {
        stretches.bytes().unwrap().value
    }

    proptest! {
        #[test]
        fn bytes_of_devices_count_once(stretches in prop::collection::vec((0_u32..2, 0_u64..60, 0_u64..20), 0..40)) {
            let (mut all, mut bytes_seen) = (ExtentSet::new(1_000), HashSet::new());
            for (device, from, length) in stretches {
                all.add(device, from, from + length);
                bytes_seen.extend((from..from + length).map(|byte| (device, byte)));
            }
            prop_assert_eq!(bytes(&all), bytes_seen.len() as f64);
        }

        #[test]
        fn regions_of_a_sample_are_those_of_all(
            stretches in prop::collection::vec((0_u64..1 << 26, 1_u64..1 << 23), 1..60)
        ) {
            let (mut all, mut some) = (ExtentSet::new(1_000), ExtentSet::new(1_000));
            some.filter = SpatialFilter::ALL.halved();
            for (from, length) in stretches {
                all.add(0, from, from + length);
                some.add(0, from, from + length);
            }
            let kept = |(device, region): (u32, u64)| some.filter.keeps(device_key(device, region));
            let expected: u64 = all
                .map
                .iter()
                .flat_map(|((device, from), to)| parts(*from, *to).map(move |part| (*device, part)))
                .filter(|(device, (region, ..))| kept((*device, *region)))
                .map(|(_, (_, from, to))| to - from)
                .sum();
            prop_assert_eq!(bytes(&some), 2.0 * expected as f64);
        }
    }

    #[test]
    fn above_the_bound_bytes_are_an_estimate_that_is_as_sure_as_it_says() {
        for device in 0..20 {
            let mut all = ExtentSet::new(2_000);
            // Four extents in each of 5,000 regions, in random order.
            for number in 0..20_000_u64 {
                let place = number * 7_919 % 20_000 * (REGION_BYTES / 4);
                all.add(device, place, place + 4096);
            }
            assert!(all.map.len() <= 2_000);
            let (found, truth) = (all.bytes().unwrap(), 20_000.0 * 4096.0);
            let error = found.standard_error().unwrap();
            assert!(error / truth < 0.1 && (found.value - truth).abs() < 4.0 * error, "{found:?} for {truth}");
        }
    }

    #[test]
    fn what_reaches_too_far_for_a_sample_is_not_known() {
        let mut all = ExtentSet::new(4);
        all.add(0, 0, u64::MAX);
        assert_eq!(bytes(&all), u64::MAX as f64);
        (0..5).for_each(|number| all.add(1, number * REGION_BYTES * 2, number * REGION_BYTES * 2 + 1));
        assert!(all.bytes().unwrap_err().contains("1 TiB"));
        let mut all = ExtentSet::new(4);
        (0..5).for_each(|number| all.add(0, number * REGION_BYTES * 2, number * REGION_BYTES * 2 + 1));
        assert!(all.bytes().is_ok());
        all.add(0, 5, u64::MAX);
        assert!(all.bytes().is_err());
    }
}
