//! A model of an SSD: parallel reads over several channels, writes through one translation layer with garbage
//! collection.
//!
//! The cost of a write grows with the span of writes: the SSD of the cache thesis makes 21,000 writes per second over 8
//! GB and 600 over its whole capacity (section 6.1).

use manometer_measure::{ByteSize, Span};
use serde::Deserialize;

use super::flash::{Flash, PAGE};
use super::{DeviceCounters, DeviceRequest};
use crate::tier::events::Ns;

/// The settings of an SSD.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdSettings {
    /// The capacity.
    pub capacity: ByteSize,
    /// The number of parallel reads.
    pub channels: usize,
    /// The latency of the first page of a read.
    pub read_latency: Span,
    /// The read rate, per second.
    pub read_per_s: ByteSize,
    /// The latency of accepting a write.
    pub write_latency: Span,
    /// The write rate of the flash, per second.
    pub write_per_s: ByteSize,
    /// Writes of 4 KiB per second within `span_small`.
    pub writes_small_span: u32,
    /// Writes of 4 KiB per second over the whole device.
    pub writes_whole: u32,
    /// The span of `writes_small_span`.
    pub span_small: ByteSize,
    /// How far writes may lag behind in the buffer before the next one waits.
    pub write_buffer: Span,
    /// The latency of a flush.
    pub flush: Span,
    /// How long a read waits at most for a write in progress.
    pub read_behind_write: Span,
    /// Overprovisioned flash, as a share of the capacity.
    pub spare: f64,
    /// The erase cycles that a block endures.
    #[serde(default)]
    pub erase_cycles: Option<u64>,
}

impl SsdSettings {
    pub(super) fn validation_error(&self) -> Option<String> {
        let positive = [
            ("capacity", self.capacity.0),
            ("channels", self.channels as u64),
            ("read_per_s", self.read_per_s.0),
            ("write_per_s", self.write_per_s.0),
            ("writes_small_span", u64::from(self.writes_small_span)),
            ("writes_whole", u64::from(self.writes_whole)),
            ("span_small", self.span_small.0),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Some(format!("`{name}` is 0: an SSD needs more"));
        }
        if self.channels > 4096 || self.capacity.0 > CAPACITY_MAX {
            return Some("`channels` is above 4096, or `capacity` above 8 TiB".to_owned());
        }
        if self.span_small >= self.capacity {
            return Some("`span_small` is not below `capacity`".to_owned());
        }
        (!(0.01..=0.9).contains(&self.spare)).then(|| "`spare` is not from 0.01 to 0.9".to_owned())
    }
}

/// The largest capacity whose pages, with the spare ones, have 32-bit numbers.
const CAPACITY_MAX: u64 = 8 << 40;
/// The number of regions by which the span of writes is estimated.
const REGIONS: u64 = 64;

/// The wear of the flash.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SsdWear {
    /// The share of the erase cycles used up.
    pub used: Option<f64>,
}

/// The simulation state of an SSD.
#[derive(Debug)]
pub struct Ssd {
    settings: SsdSettings,
    /// When each channel is free for reads, and for writes.
    channels: Vec<Ns>,
    writers: Vec<Ns>,
    bus_free: Ns,
    flash: Flash,
    region_bytes: u64,
    is_written: Vec<bool>,
    regions: u64,
    /// The cost of a write in addition to its bytes.
    overhead: Ns,
    /// When the last of the requests in service completes.
    busy_until: Ns,
    counters: DeviceCounters,
}

impl Ssd {
    /// An SSD with all sizes divided by `scale`.
    pub fn new(settings: &SsdSettings, scale: u64) -> Self {
        let capacity = (settings.capacity.0 / scale).max(PAGE);
        Self {
            channels: vec![0; settings.channels],
            writers: vec![0; settings.channels],
            bus_free: 0,
            flash: Flash::new(capacity, settings.spare),
            region_bytes: capacity.div_ceil(REGIONS),
            is_written: vec![false; REGIONS as usize],
            regions: 0,
            overhead: 0,
            busy_until: 0,
            counters: DeviceCounters::default(),
            settings: settings.clone(),
        }
    }

    /// Its counters.
    pub fn counters(&self) -> DeviceCounters {
        let (host, all, _) = self.flash.counts();
        DeviceCounters { host_bytes: host * PAGE, flash_bytes: all * PAGE, ..self.counters }
    }

    /// Its wear.
    pub fn wear(&self) -> SsdWear {
        let (_, _, erased) = self.flash.counts();
        let erases = erased as f64 / self.flash.blocks() as f64;
        SsdWear { used: self.settings.erase_cycles.map(|cycles| erases / cycles as f64) }
    }

    /// The pending write time, averaged over the channels.
    pub fn backlog(&self, now: Ns) -> Ns {
        self.writers.iter().map(|free| free.saturating_sub(now)).sum::<Ns>() / self.writers.len() as Ns
    }

    /// How long a read arriving now would wait.
    pub fn read_backlog(&self, now: Ns) -> Ns {
        let soonest = self.channels.iter().min().copied().unwrap_or(0);
        soonest.max(self.bus_free).saturating_sub(now)
    }

    /// Submits a request. Returns when it completes.
    pub fn submit(&mut self, now: Ns, io: &DeviceRequest) -> Ns {
        let done = if io.is_write { self.write(now, io) } else { self.read(now, io) };
        self.serve(now, done);
        done
    }

    /// Counts the time in which at least one request is in service, as the kernel does for a device.
    fn serve(&mut self, now: Ns, done: Ns) {
        self.counters.busy_ns += done.saturating_sub(self.busy_until.max(now));
        self.busy_until = self.busy_until.max(done);
    }

    /// Flushes written data to flash. Returns when it completes.
    pub fn flush(&mut self, now: Ns) -> Ns {
        let written = self.writers.iter().copied().max().unwrap_or(0).max(now);
        let flushed = written + self.settings.flush.nanoseconds();
        self.writers.fill(flushed);
        self.serve(now, flushed);
        flushed
    }

    /// Discards a range.
    pub fn trim(&mut self, offset: u64, bytes: u64) {
        self.flash.trim(offset, bytes);
    }

    fn read(&mut self, now: Ns, io: &DeviceRequest) -> Ns {
        let settings = &self.settings;
        let channel = (0..self.channels.len()).min_by_key(|at| self.channels[*at]).unwrap_or(0);
        let write = self.backlog(now).min(settings.read_behind_write.nanoseconds());
        let begins = self.channels[channel].max(now + write);
        let sensed = begins + settings.read_latency.nanoseconds();
        let transfer = per(io.bytes, settings.read_per_s);
        let done = sensed.max(self.bus_free) + transfer;
        self.bus_free = done;
        self.channels[channel] = done;
        done
    }

    fn write(&mut self, now: Ns, io: &DeviceRequest) -> Ns {
        self.note_span(io);
        let pages = (io.offset + io.bytes).div_ceil(PAGE) - io.offset / PAGE;
        let moved = self.flash.write(io.offset, io.bytes).saturating_sub(pages);
        let cleaning = per(moved * PAGE, self.settings.write_per_s);
        let cost = self.overhead + per(pages * PAGE, self.settings.write_per_s);
        // Moved pages are spread over all channels.
        self.program(now, u64::MAX, cleaning);
        let written = self.program(now, pages, cost);
        let accepted = now + self.settings.write_latency.nanoseconds();
        if io.is_through {
            return accepted.max(written);
        }
        accepted.max(now + self.backlog(now).saturating_sub(self.settings.write_buffer.nanoseconds()))
    }

    /// Programs up to `pages` channels, those that are free first. Returns when it completes. `cost` is the time with
    /// all channels.
    fn program(&mut self, now: Ns, pages: u64, cost: Ns) -> Ns {
        let all = self.writers.len() as u64;
        let count = pages.clamp(1, all);
        let each = cost * all / count;
        self.writers.sort_unstable();
        let mut written = now;
        for free in &mut self.writers[..count as usize] {
            *free = (*free).max(now) + each;
            written = written.max(*free);
        }
        written
    }

    fn note_span(&mut self, io: &DeviceRequest) {
        for region in io.offset / self.region_bytes..=(io.offset + io.bytes - 1) / self.region_bytes {
            if let Some(is_written) = self.is_written.get_mut(region as usize).filter(|is_written| !**is_written) {
                *is_written = true;
                self.regions += 1;
                self.overhead = self.overhead();
            }
        }
    }

    /// The cost of a write in addition to its bytes, by the span of writes: a power law between the two known points.
    fn overhead(&self) -> Ns {
        let settings = &self.settings;
        let least = settings.span_small.0 as f64 / settings.capacity.0 as f64;
        let share = (self.regions as f64 / REGIONS as f64).clamp(least, 1.0);
        let (small, whole) = (1e9 / f64::from(settings.writes_small_span), 1e9 / f64::from(settings.writes_whole));
        let power = (share / least).ln() / (1.0 / least).ln();
        let page = per(PAGE, settings.write_per_s) as f64;
        (small * (whole / small).powf(power) - page).max(0.0) as Ns
    }
}

/// The time for `bytes` at a rate, in nanoseconds.
fn per(bytes: u64, per_s: ByteSize) -> Ns {
    (u128::from(bytes) * 1_000_000_000 / u128::from(per_s.0)) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ssd(channels: usize) -> Ssd {
        let text = format!(
            "capacity = \"16MB\"\nchannels = {channels}\nread_latency = \"90us\"\nread_per_s = \"270MB\"\n\
            write_latency = \"60us\"\nwrite_per_s = \"165MB\"\nwrites_small_span = 1000\nwrites_whole = 1000\n\
            span_small = \"8MB\"\nwrite_buffer = \"2ms\"\nflush = \"2ms\"\nread_behind_write = \"500us\"\nspare = 0.1"
        );
        Ssd::new(&toml::from_str(&text).unwrap(), 1)
    }

    fn write(ssd: &mut Ssd, pages: u64, is_through: bool) -> Ns {
        ssd.submit(0, &DeviceRequest { offset: 0, bytes: pages * PAGE, is_write: true, is_through, job: 0 })
    }

    #[test]
    fn small_writes_are_done_side_by_side_and_no_sooner_all_together() {
        let (mut one, mut four) = (ssd(1), ssd(4));
        let [alone, beside] = [&mut one, &mut four].map(|ssd| [0, 1, 2, 3].map(|_| write(ssd, 1, true)));
        let ms = |written: [Ns; 4]| written.map(|ns| (ns as f64 / 1e6).round());
        assert_eq!((ms(alone), ms(beside)), ([1.0, 2.0, 3.0, 4.0], [4.0; 4]));
        assert_eq!((one.backlog(0), four.backlog(0)), (alone[3], alone[3]));
    }

    #[test]
    fn it_is_busy_while_a_request_is_in_service() {
        let read =
            |at: u64| DeviceRequest { offset: at * PAGE, bytes: PAGE, is_write: false, is_through: false, job: 0 };
        let mut idle_between = ssd(4);
        let alone = idle_between.submit(0, &read(0));
        for at in 1..10 {
            idle_between.submit(at * 1_000_000, &read(at));
        }
        assert_eq!(idle_between.counters().busy_ns, 10 * alone);
        let mut saturated = ssd(4);
        let last = (0..64).map(|at| saturated.submit(at * 1000, &read(at))).max().unwrap();
        assert_eq!(saturated.counters().busy_ns, last, "never without a request, however many at once");
        let mut written = ssd(4);
        let done = write(&mut written, 1, true).max(write(&mut written, 1, true));
        assert_eq!(written.counters().busy_ns, done);
        let flushed = written.flush(done + 1000);
        assert_eq!(written.counters().busy_ns, flushed - 1000);
    }

    #[test]
    fn large_writes_and_buffered_ones_take_as_long_over_any_channels() {
        let [one, four] = [1, 4].map(|channels| {
            let mut ssd = ssd(channels);
            let written = [write(&mut ssd, 16, true), write(&mut ssd, 1, false), write(&mut ssd, 1, false)];
            (written, ssd.flush(0) > 0)
        });
        assert_eq!(one, four);
        let mut ssd = ssd(4);
        write(&mut ssd, 1, false);
        assert_eq!(ssd.flush(0) / 1_000_000, 6, "the channel that is at it, and the flush");
    }
}
