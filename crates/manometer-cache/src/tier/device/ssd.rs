//! An SSD: reads over several channels, writes through one translation layer that moves pages to make room.
//!
//! What a write costs grows with the span that is written: the cache thesis's SSD makes 21,000 writes a second over
//! 8 GB and 600 over all of it (section 6.1).

use manometer_measure::{ByteSize, Span};
use serde::Deserialize;

use super::flash::{Flash, PAGE};
use super::{DeviceTally, Io};
use crate::tier::events::Ns;

/// An SSD as a file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdSettings {
    /// What it holds.
    pub capacity: ByteSize,
    /// How many requests it reads at once.
    pub channels: usize,
    /// What reading the first page of a request takes.
    pub read_latency: Span,
    /// What it reads in a second.
    pub read_per_s: ByteSize,
    /// What accepting a write takes.
    pub write_latency: Span,
    /// What it writes to flash in a second.
    pub write_per_s: ByteSize,
    /// Writes of 4 KiB in a second where these are spread over `span_small` only.
    pub writes_small_span: u32,
    /// The same spread over the whole device.
    pub writes_whole: u32,
    /// What counts as a small span.
    pub span_small: ByteSize,
    /// How long writes may lag behind in its buffer before the next one waits.
    pub write_buffer: Span,
    /// What it takes to make sure that what was written is on flash.
    pub flush: Span,
    /// How long a read waits at most for a write that is under way.
    pub read_behind_write: Span,
    /// Flash beyond its capacity, as a share of that.
    pub spare: f64,
    /// How often a block can be erased.
    #[serde(default)]
    pub erase_cycles: Option<u64>,
}

impl SsdSettings {
    pub(super) fn wrong(&self) -> Option<String> {
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

/// The largest SSD, whose pages with those spare still have numbers.
const CAPACITY_MAX: u64 = 8 << 40;
/// Into how many parts an SSD is divided to tell the span that is written.
const REGIONS: u64 = 64;

/// How worn the flash is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wear {
    /// Bytes that were written to flash for each that the host wrote.
    pub amplification: f64,
    /// How often a block was erased in the mean.
    pub erases: f64,
    /// Which share of all erases that it stands was used up.
    pub used: Option<f64>,
}

/// An SSD at work.
#[derive(Debug)]
pub struct Ssd {
    settings: SsdSettings,
    /// When each channel is free.
    channels: Vec<Ns>,
    bus_free: Ns,
    writer_free: Ns,
    flash: Flash,
    region_bytes: u64,
    is_written: Vec<bool>,
    regions: u64,
    /// What a write costs beside its bytes.
    overhead: Ns,
    tally: DeviceTally,
}

impl Ssd {
    /// An SSD whose sizes are all `scale` times smaller.
    pub fn new(settings: &SsdSettings, scale: u64) -> Self {
        let capacity = (settings.capacity.0 / scale).max(PAGE);
        Self {
            channels: vec![0; settings.channels],
            bus_free: 0,
            writer_free: 0,
            flash: Flash::new(capacity, settings.spare),
            region_bytes: capacity.div_ceil(REGIONS),
            is_written: vec![false; REGIONS as usize],
            regions: 0,
            overhead: 0,
            tally: DeviceTally::default(),
            settings: settings.clone(),
        }
    }

    /// What it did. What was written is what the host wrote.
    pub fn tally(&self) -> DeviceTally {
        self.tally
    }

    /// How worn it is.
    pub fn wear(&self) -> Wear {
        let (written, all, erased) = self.flash.counts();
        let erases = erased as f64 / self.flash.blocks() as f64;
        Wear {
            amplification: if written == 0 { 1.0 } else { all as f64 / written as f64 },
            erases,
            used: self.settings.erase_cycles.map(|cycles| erases / cycles as f64),
        }
    }

    /// How long a write that came now would wait.
    pub fn backlog(&self, now: Ns) -> Ns {
        self.writer_free.saturating_sub(now)
    }

    /// How long a read that came now would wait.
    pub fn read_backlog(&self, now: Ns) -> Ns {
        let soonest = self.channels.iter().min().copied().unwrap_or(0);
        soonest.max(self.bus_free).saturating_sub(now)
    }

    /// Takes a request in: when it is done.
    pub fn submit(&mut self, now: Ns, io: &Io) -> Ns {
        if io.is_write { self.write(now, io) } else { self.read(now, io) }
    }

    /// Makes sure that what was written is on flash: when that is so.
    pub fn flush(&mut self, now: Ns) -> Ns {
        self.writer_free = self.writer_free.max(now) + self.settings.flush.nanoseconds();
        self.tally.busy_ns += self.settings.flush.nanoseconds();
        self.writer_free
    }

    /// Forgets what it holds.
    pub fn trim(&mut self, offset: u64, bytes: u64) {
        self.flash.trim(offset, bytes);
    }

    fn read(&mut self, now: Ns, io: &Io) -> Ns {
        let settings = &self.settings;
        let channel = (0..self.channels.len()).min_by_key(|at| self.channels[*at]).unwrap_or(0);
        let write = self.writer_free.saturating_sub(now).min(settings.read_behind_write.nanoseconds());
        let begins = self.channels[channel].max(now + write);
        let sensed = begins + settings.read_latency.nanoseconds();
        let transfer = per(io.bytes, settings.read_per_s);
        let done = sensed.max(self.bus_free) + transfer;
        self.bus_free = done;
        self.channels[channel] = done;
        self.tally.busy_ns += transfer;
        done
    }

    fn write(&mut self, now: Ns, io: &Io) -> Ns {
        self.note_span(io);
        let pages = self.flash.write(io.offset, io.bytes);
        let cost = self.overhead + per(pages * PAGE, self.settings.write_per_s);
        self.writer_free = self.writer_free.max(now) + cost;
        self.tally.written_bytes += io.bytes;
        self.tally.busy_ns += cost;
        let lag = if io.is_through { 0 } else { self.settings.write_buffer.nanoseconds() };
        let accepted = now + self.settings.write_latency.nanoseconds();
        accepted.max(self.writer_free.saturating_sub(lag))
    }

    fn note_span(&mut self, io: &Io) {
        for region in io.offset / self.region_bytes..=(io.offset + io.bytes - 1) / self.region_bytes {
            if let Some(is_written) = self.is_written.get_mut(region as usize).filter(|is_written| !**is_written) {
                *is_written = true;
                self.regions += 1;
                self.overhead = self.overhead();
            }
        }
    }

    /// What a write costs beside its bytes, by the span that was written: between the two that are known, a power.
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

/// How long `bytes` take at a rate, in nanoseconds.
fn per(bytes: u64, per_s: ByteSize) -> Ns {
    (u128::from(bytes) * 1_000_000_000 / u128::from(per_s.0)) as Ns
}
