//! From settings and parameters to a benchmark.

use manometer_target::engine::{self, StorageKind};

use super::parameters::{Parameters, bad_parameter};
use crate::kv::db_bench::{
    BackgroundRequests, Benchmark, DbBench, EndCondition, InitialContent, KeyRanges, Kind, LengthDistribution,
    MixGraph, MixGraphKeys, Pareto, PowerLaw, RecordDistribution, RequestPattern, SineRate, below,
};
use crate::kv::distribution::PopularityDistribution;
use crate::kv::error::KvError;
use crate::kv::keys::KeyForm;
use crate::kv::operation_mix::OperationMix;
use crate::kv::plan::{Presence, ResolvedSettings, RunProperties, UpdateMode, WorkloadSpec};
use crate::kv::request::KvOperation;
use crate::kv::settings::{KeyDistribution, KvSettings};
use crate::kv::value_lengths::ValueLengths;
use crate::kv::values::ValueForm;

const RECORDS: u64 = 1_000_000;
const KEY_BYTES: u32 = 16;
const KEY_BYTES_MAX: u32 = 32_768;
const VALUE_BYTES: usize = 100;
const READHOT_FRACTION: f64 = 0.01;
/// Ranges of keys are kept in memory.
const KEY_RANGES_MAX: u64 = 10_000_000;
/// The longest value of mixgraph, for any parameters.
const MIXGRAPH_VALUE_BYTES_MAX: usize = 1 << 20;

/// Resolves `settings` of the workload `benchmark`, and the parameters that they name.
pub(super) fn resolve(benchmark: &'static Benchmark, settings: &KvSettings) -> Result<ResolvedSettings, KvError> {
    refuse_ycsbs(settings)?;
    let parameters = Parameters::new(&settings.properties)?;
    let records = settings.records.or(parameters.count("num", 1)?).unwrap_or(RECORDS);
    if records == 0 {
        return Err(KvError::BadSetting {
            name: "records",
            got: "0".to_owned(),
            wanted: "write a number of at least 1",
        });
    }
    let resolver = BenchmarkResolver { benchmark, settings, parameters: &parameters, records };
    let key_bytes = resolver.key_bytes()?;
    let values = resolver.values()?;
    let loaded = resolver.loaded()?;
    let bench = resolver.bench(key_bytes, &values, loaded)?;
    let spec = WorkloadSpec {
        records,
        first: 0,
        loaded,
        next: loaded,
        keys: KeyForm::DbBench { key_bytes },
        values,
        distribution: PopularityDistribution::Uniform,
        expect: expect(&bench, settings, loaded)?,
        mix: OperationMix::DbBench(Box::new(bench)),
        update: UpdateMode::Record,
        fields: 1,
    };
    Ok(ResolvedSettings {
        spec,
        threads: settings.threads.unwrap_or(1),
        run_properties: RunProperties::default(),
        notes: parameters.ignored(benchmark.name),
    })
}

fn refuse_ycsbs(settings: &KvSettings) -> Result<(), KvError> {
    let bad = |name, got: String, wanted| Err(KvError::BadSetting { name, got, wanted });
    const SIZED: &str = "records of db_bench's workloads have no fields; write value_size";
    match settings {
        KvSettings { field_count: Some(count), .. } => bad("field_count", count.to_string(), SIZED),
        KvSettings { properties_files, .. } if !properties_files.is_empty() => {
            const YCSBS: &str = "properties files are for YCSB; set db_bench's parameters with `properties`";
            bad("properties_files", properties_files.join(", "), YCSBS)
        }
        KvSettings { field_length: Some(length), .. } => bad("field_length", length.to_string(), SIZED),
        KvSettings { distribution: Some(other), .. } if *other != KeyDistribution::Uniform => {
            const OWN: &str = "db_bench's workloads draw uniformly; skew its readers with read_random_exp_range";
            bad("distribution", format!("{other:?}"), OWN)
        }
        KvSettings { exponent: Some(exponent), .. } => {
            bad("exponent", exponent.to_string(), "db_bench's workloads draw uniformly; leave it out")
        }
        _ => match settings.proportions().next() {
            Some((_, share)) => {
                const OWN: &str =
                    "a db_bench workload defines its own mix; see its parameters, such as readwritepercent";
                bad("read_proportion, update_proportion …", share.to_string(), OWN)
            }
            None => Ok(()),
        },
    }
}

/// Whether requested records exist. An engine that keeps nothing may find any.
fn expect(bench: &DbBench, settings: &KvSettings, loaded: u64) -> Result<Presence, KvError> {
    let keeps_nothing = engine::find(&settings.engine)?.storage == StorageKind::Nothing;
    Ok(match &bench.mix {
        _ if bench.benchmark.kind == Kind::Missing => {
            if keeps_nothing {
                Presence::Maybe
            } else {
                Presence::Absent
            }
        }
        RequestPattern::ReadsAndMerges { below, .. } if *below > loaded => Presence::Maybe,
        RequestPattern::Mix(MixGraph { keys: MixGraphKeys::PowerLaw(_), .. }) => Presence::Maybe,
        _ if loaded == 0 => Presence::Maybe,
        _ => Presence::Present,
    })
}

/// Resolves the parameters of one benchmark.
struct BenchmarkResolver<'a> {
    benchmark: &'static Benchmark,
    settings: &'a KvSettings,
    parameters: &'a Parameters<'a>,
    records: u64,
}

impl BenchmarkResolver<'_> {
    fn key_bytes(&self) -> Result<u32, KvError> {
        const WANTED: &str = "write a number from 1 to 32768 that gives each record a distinct key";
        let parameter = self.parameters.number("key_size", WANTED, |_| true)?;
        let key_bytes = self.settings.key_size.or(parameter).unwrap_or(KEY_BYTES);
        let numbers_fit = key_bytes >= 8 || self.records <= 1 << (8 * key_bytes);
        if !(1..=KEY_BYTES_MAX).contains(&key_bytes) || !numbers_fit {
            return Err(KvError::BadSetting { name: "key_size", got: key_bytes.to_string(), wanted: WANTED });
        }
        Ok(key_bytes)
    }

    fn values(&self) -> Result<ValueForm, KvError> {
        let value_bytes = self.parameters.count("value_size", 0)?.map(|bytes| bytes as usize);
        let value_bytes = self.settings.value_size.map(|bytes| bytes as usize).or(value_bytes);
        let compressible_to = self.parameters.share("compression_ratio", 0.5)?;
        let spread = if self.benchmark.kind == Kind::Mix { Some(self.mixgraph_spread()?) } else { self.spread()? };
        if let (Some(_), Some(bytes)) = (spread, value_bytes) {
            let wanted = "value lengths follow a distribution here: set its parameters instead";
            return Err(KvError::BadSetting { name: "value_size", got: bytes.to_string(), wanted });
        }
        let lengths = spread.map_or(ValueLengths::Constant(value_bytes.unwrap_or(VALUE_BYTES)), ValueLengths::DbBench);
        Ok(ValueForm { lengths, compressible_to })
    }

    fn spread(&self) -> Result<Option<LengthDistribution>, KvError> {
        const NAME: &str = "value_size_distribution_type";
        let min = self.parameters.count("value_size_min", 0)?.unwrap_or(100) as usize;
        let max = self.parameters.count("value_size_max", min as u64)?.unwrap_or(102_400) as usize;
        match self.parameters.text(NAME) {
            None | Some("fixed") => Ok(None),
            Some("uniform") if min <= max => Ok(Some(LengthDistribution::Uniform { min, max })),
            Some("normal") if min <= max => Ok(Some(LengthDistribution::Normal { min, max })),
            Some(kind @ ("uniform" | "normal")) => {
                Err(bad_parameter(NAME, kind, &format!("value_size_min ({min}) is above value_size_max ({max})")))
            }
            Some(other) => Err(bad_parameter(NAME, other, "write fixed, uniform or normal")),
        }
    }

    fn mixgraph_spread(&self) -> Result<LengthDistribution, KvError> {
        let good = |bytes: &usize| *bytes >= 10;
        let max = self.parameters.number("mix_max_value_size", "write a number from 10", good)?.unwrap_or(1024);
        Ok(LengthDistribution::Pareto { of: self.mixgraph_values()?, max: max.min(MIXGRAPH_VALUE_BYTES_MAX) })
    }

    fn mixgraph_values(&self) -> Result<Pareto, KvError> {
        let real = |name, default| self.parameters.real(name, default);
        Ok(Pareto { theta: real("value_theta", 0.0)?, k: real("value_k", 0.2615)?, sigma: real("value_sigma", 25.45)? })
    }

    fn loaded(&self) -> Result<u64, KvError> {
        if self.benchmark.initial_state == InitialContent::Empty {
            return Ok(0);
        }
        Ok(if self.parameters.flag("use_existing_db", true)? { self.records } else { 0 })
    }

    fn bench(&self, key_bytes: u32, values: &ValueForm, loaded: u64) -> Result<DbBench, KvError> {
        let mix = self.mix()?;
        let background = match self.benchmark.background {
            Some(operation) => Some(self.background(operation, f64::from(key_bytes) + values.lengths.mean())?),
            None => None,
        };
        let request_keys =
            (self.benchmark.kind == Kind::Missing).then_some(KeyForm::DbBench { key_bytes: key_bytes + 1 });
        let unstable = unstable(self.benchmark, &mix, background.as_ref(), loaded);
        Ok(DbBench {
            benchmark: self.benchmark,
            mix,
            background,
            request_keys,
            requests: self.requests()?,
            round: (self.benchmark.end_condition == EndCondition::Round).then_some(self.records),
            sine: self.sine()?,
            unstable,
        })
    }

    fn mix(&self) -> Result<RequestPattern, KvError> {
        Ok(match self.benchmark.kind {
            Kind::Sequence(operation) => RequestPattern::Sequence(operation),
            Kind::Random(KvOperation::Scan) => self.seeks()?,
            Kind::Random(KvOperation::Merge) => {
                self.random(KvOperation::Merge, RecordDistribution::Below(self.merge_keys()?))
            }
            Kind::Random(operation) => self.random(operation, RecordDistribution::Below(self.records)),
            Kind::Draw(KvOperation::MultiRead) => self.multi_reads()?,
            Kind::Draw(operation) => self.random(operation, self.drawn()?),
            Kind::Hot => {
                let share = self.parameters.share("readhot_fraction", READHOT_FRACTION)?;
                let hot = ((self.records as f64 * share).ceil() as u64).clamp(1, self.records);
                self.random(KvOperation::Read, RecordDistribution::Below(hot))
            }
            Kind::Missing => self.random(KvOperation::Read, self.drawn()?),
            Kind::Iteration { backward } => RequestPattern::Iteration { backward },
            Kind::ReadsThenWrites => {
                let reads = self.parameters.percentage("readwritepercent", 90)?;
                RequestPattern::ReadsThenWrites { reads, writes: 100 - reads }
            }
            Kind::ReadsAndMerges => {
                let merges_percent = self.parameters.percentage("mergereadpercent", 70)?;
                RequestPattern::ReadsAndMerges { merges_percent, below: self.merge_keys()? }
            }
            Kind::Mix => RequestPattern::Mix(self.mixgraph()?),
        })
    }

    fn random(&self, operation: KvOperation, numbers: RecordDistribution) -> RequestPattern {
        RequestPattern::Random { operation, numbers, length: 1, stride: 0, backward: false }
    }

    /// Scans of the record sought and the `seek_nexts` after it.
    fn seeks(&self) -> Result<RequestPattern, KvError> {
        let nexts = self.parameters.number("seek_nexts", "write a number from 0", |nexts| *nexts < u32::MAX)?;
        Ok(RequestPattern::Random {
            operation: KvOperation::Scan,
            numbers: RecordDistribution::Below(self.records),
            length: 1 + nexts.unwrap_or(0),
            stride: 0,
            backward: self.parameters.flag("reverse_iterator", false)?,
        })
    }

    fn multi_reads(&self) -> Result<RequestPattern, KvError> {
        const MOST: u32 = 1 << 16;
        let wanted = "write a number from 1 to 65536, at most that of the records";
        let good = |length: &u32| (1..=MOST).contains(length) && u64::from(*length) <= self.records;
        let length = self.parameters.number("batch_size", wanted, good)?.unwrap_or(1);
        let stride = self.parameters.count("multiread_stride", 0)?.unwrap_or(0);
        if stride.saturating_mul(length.into()) > self.records {
            let wanted = "multiread_stride × batch_size is at most the number of records";
            return Err(bad_parameter("multiread_stride", &stride.to_string(), wanted));
        }
        let numbers = self.drawn()?;
        Ok(RequestPattern::Random { operation: KvOperation::MultiRead, numbers, length, stride, backward: false })
    }

    fn drawn(&self) -> Result<RecordDistribution, KvError> {
        let good = |range: &f64| range.is_finite() && *range >= 0.0;
        let range = self.parameters.number("read_random_exp_range", "write a number from 0", good)?.unwrap_or(0.0);
        let records = self.records;
        Ok(if range == 0.0 {
            RecordDistribution::Below(records)
        } else {
            RecordDistribution::Exponential { records, range }
        })
    }

    fn merge_keys(&self) -> Result<u64, KvError> {
        let wanted = "write a whole number from 1, or -1 for all records";
        let number = self.parameters.number("merge_keys", wanted, |keys: &i64| *keys == -1 || *keys >= 1)?;
        Ok(number.and_then(|keys| u64::try_from(keys).ok()).unwrap_or(self.records))
    }

    /// How many requests of all threads together; -1 is db_bench's default.
    fn requests(&self) -> Result<Option<u64>, KvError> {
        let writes = matches!(self.benchmark.kind, Kind::Sequence(KvOperation::Insert) | Kind::Random(_))
            && self.benchmark.kind != Kind::Random(KvOperation::Scan);
        let deletes =
            matches!(self.benchmark.kind, Kind::Sequence(KvOperation::Delete) | Kind::Random(KvOperation::Delete));
        let both = matches!(
            self.benchmark.kind,
            Kind::ReadsThenWrites
                | Kind::ReadsAndMerges
                | Kind::Random(KvOperation::ReadModifyWrite | KvOperation::Merge)
        );
        let count = |name| -> Result<Option<u64>, KvError> {
            let wanted = "write a whole number from 1, or -1 for no limit";
            let number = self.parameters.number(name, wanted, |count: &i64| *count == -1 || *count >= 1)?;
            Ok(number.and_then(|count| u64::try_from(count).ok()))
        };
        if both {
            // The number of iterations is the larger of both.
            return Ok(count("reads")?.max(count("writes")?));
        }
        count(if deletes {
            "deletes"
        } else if writes {
            "writes"
        } else {
            "reads"
        })
    }

    fn background(&self, operation: KvOperation, bytes_each: f64) -> Result<BackgroundRequests, KvError> {
        if operation == KvOperation::BackgroundScan {
            return Ok(BackgroundRequests { operation, below: self.records, per_second: None });
        }
        let below = self.parameters.count("bgwriter_num", 0)?.filter(|below| *below > 0).unwrap_or(self.records);
        let bytes_per_second = self.parameters.count("benchmark_write_rate_limit", 0)?.filter(|bytes| *bytes > 0);
        let per_second = bytes_per_second.map(|bytes| bytes as f64 / bytes_each);
        Ok(BackgroundRequests { operation, below, per_second })
    }

    fn mixgraph(&self) -> Result<MixGraph, KvError> {
        let real = |name, default| self.parameters.real(name, default);
        let LengthDistribution::Pareto { of: values, max: value_max } = self.mixgraph_spread()? else {
            return Err(bad_parameter("mix_max_value_size", "", "write a number from 10"));
        };
        let good = |length: &u32| *length >= 1;
        let scan_max = self.parameters.number("mix_max_scan_len", "write a number from 1", good)?.unwrap_or(10_000);
        Ok(MixGraph {
            records: self.records,
            below: below(self.mix_ratios()?),
            keys: self.mix_keys()?,
            values,
            value_max,
            scans: Pareto {
                theta: real("iter_theta", 0.0)?,
                k: real("iter_k", 2.517)?,
                sigma: real("iter_sigma", 14.236)?,
            },
            scan_max,
        })
    }

    fn mix_ratios(&self) -> Result<[f64; 3], KvError> {
        let ratio = |name, default| -> Result<f64, KvError> {
            let good = |ratio: &f64| ratio.is_finite() && *ratio >= 0.0;
            Ok(self.parameters.number(name, "write a ratio from 0", good)?.unwrap_or(default))
        };
        let ratios = [ratio("mix_get_ratio", 1.0)?, ratio("mix_put_ratio", 0.0)?, ratio("mix_seek_ratio", 0.0)?];
        if ratios.iter().sum::<f64>() > 0.0 {
            return Ok(ratios);
        }
        Err(bad_parameter("mix_get_ratio", "0", "mix_get_ratio, mix_put_ratio or mix_seek_ratio must be above 0"))
    }

    fn mix_keys(&self) -> Result<MixGraphKeys, KvError> {
        let real = |name| self.parameters.real(name, 0.0);
        let power = PowerLaw { a: real("key_dist_a")?, b: real("key_dist_b")? };
        let shares =
            [real("keyrange_dist_a")?, real("keyrange_dist_b")?, real("keyrange_dist_c")?, real("keyrange_dist_d")?];
        let most = self.records.min(KEY_RANGES_MAX);
        let wanted = format!("write a number from 1 to {most}");
        let count = self.parameters.number("keyrange_num", &wanted, |count| (1..=most).contains(count))?.unwrap_or(1);
        if power.a == 0.0 || power.b == 0.0 {
            return Ok(MixGraphKeys::Random);
        }
        if shares == [0.0; 4] {
            return Ok(MixGraphKeys::PowerLaw(power));
        }
        let ranges = KeyRanges::new(self.records, count, shares).ok_or_else(|| {
            let shares = shares.map(|share| share.to_string()).join(", ");
            bad_parameter("keyrange_dist_a, b, c, d", &shares, "no range of keys gets a share of the requests")
        })?;
        Ok(MixGraphKeys::Ranges(ranges, power))
    }

    fn sine(&self) -> Result<Option<SineRate>, KvError> {
        if self.benchmark.kind != Kind::Mix || !self.parameters.flag("sine_mix_rate", false)? {
            return Ok(None);
        }
        let real = |name, default| self.parameters.real(name, default);
        // It has no effect: ours follows the sine at every moment.
        self.parameters.count("sine_mix_rate_interval_milliseconds", 1)?;
        let noise = self.parameters.share("sine_mix_rate_noise", 0.0)?;
        if noise > 0.0 {
            let wanted = "write 0; use arrivals = poisson for random arrivals";
            return Err(bad_parameter("sine_mix_rate_noise", &noise.to_string(), wanted));
        }
        let sine = SineRate {
            a: real("sine_a", 1.0)?,
            b: real("sine_b", 1.0)?,
            c: real("sine_c", 0.0)?,
            d: real("sine_d", 1.0)?,
        };
        if !(1e-9..=1e6).contains(&sine.b) || sine.a < 0.0 || sine.a > sine.d {
            let got = format!("{}, {}, {}", sine.a, sine.b, sine.d);
            return Err(bad_parameter(
                "sine_a, sine_b, sine_d",
                &got,
                "b is from 1e-9 to 1e6, and a is from 0 to d: no rate is below 0",
            ));
        }
        Ok(Some(sine))
    }
}

/// Why the mix or the size of the database changes.
fn unstable(
    benchmark: &Benchmark,
    mix: &RequestPattern,
    background: Option<&BackgroundRequests>,
    loaded: u64,
) -> Option<&'static str> {
    let outside = |below: u64| below > loaded;
    match (benchmark.kind, mix) {
        _ if benchmark.initial_state == InitialContent::Empty => Some("it fills a database that is empty at first"),
        (Kind::Sequence(KvOperation::Delete) | Kind::Random(KvOperation::Delete), _) => Some("it deletes records"),
        (_, RequestPattern::Mix(MixGraph { keys: MixGraphKeys::PowerLaw(_), below: [reads, writes, _], .. }))
            if writes > reads =>
        {
            Some("half of the keys that it writes are not loaded")
        }
        (_, RequestPattern::ReadsAndMerges { below, merges_percent: 1.. }) if outside(*below) => {
            Some("it merges into keys that are not loaded")
        }
        (
            _,
            RequestPattern::Random { operation: KvOperation::Merge, numbers: RecordDistribution::Below(below), .. },
        ) if outside(*below) => Some("it merges into keys that are not loaded"),
        _ if background.is_some_and(|background| {
            background.operation != KvOperation::BackgroundScan && outside(background.below)
        }) =>
        {
            Some("its background thread writes keys that are not loaded")
        }
        (_, RequestPattern::Random { operation: KvOperation::Update | KvOperation::ReadModifyWrite, .. })
        | (_, RequestPattern::ReadsThenWrites { writes: 1.., .. })
        | (_, RequestPattern::Mix(MixGraph { keys: MixGraphKeys::Random | MixGraphKeys::Ranges(..), .. }))
            if loaded == 0 =>
        {
            Some("it fills a database that is empty at first")
        }
        _ => None,
    }
}
