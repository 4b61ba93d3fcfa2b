//! YCSB's core workloads: from settings and properties to a specification.

use std::path::Path;
use std::str::FromStr;

use super::distribution::{EXPONENT, IntegerDistribution, PopularityDistribution};
use super::error::KvError;
use super::field_lengths::{FieldLength, FieldLengths, LengthHistogram};
use super::keys::KeyForm;
use super::operation_mix::{OperationMix, YcsbMix};
use super::plan::{Presence, ResolvedSettings, RunProperties, UpdateMode, WorkloadSpec};
use super::population::RecordRange;
use super::properties::Properties;
use super::settings::{KeyDistribution, KvSettings};
use super::value_lengths::ValueLengths;
use super::values::ValueForm;

/// The most digits a key is padded to.
const ZERO_PADDING_MAX: u32 = 1000;
/// The most records of one scan.
const SCAN_LENGTH_MAX: u64 = u32::MAX as u64;

const A_NUMBER: &str = "write a number from 0";
const AT_LEAST_ONE: &str = "a number of at least 1";

/// Resolves `settings` and the properties that they name.
pub(super) fn resolve(settings: &KvSettings) -> Result<ResolvedSettings, KvError> {
    let mut properties = Properties::of_workload(&settings.workload)?;
    for name in &settings.properties_files {
        properties.override_with(Properties::of_workload(name)?);
    }
    for (name, value) in &settings.properties {
        properties.set("properties".to_owned(), name, value)?;
    }
    for (name, share) in settings.proportions() {
        properties.set("settings".to_owned(), name, &share.to_string())?;
    }
    let (mix, assumed) = mix(&properties)?;
    let records = records(settings, &mut properties)?;
    let RecordRange { first, loaded, next } = part(&properties, records)?;
    let distribution = popularity(settings, &properties)?;
    if records > 0 {
        distribution.check(loaded)?;
    }
    let fields: u32 = settings.field_count.or(properties.value("fieldcount", AT_LEAST_ONE)?).unwrap_or(10);
    if fields == 0 {
        return Err(bad("field_count", fields, AT_LEAST_ONE));
    }
    let spec = WorkloadSpec {
        records,
        first,
        loaded,
        next,
        keys: keys(&properties)?,
        values: ValueForm::random(lengths(settings, &mut properties, fields)?),
        distribution,
        mix: OperationMix::Ycsb(mix),
        expect: Presence::Present,
        update: if flag(&properties, "writeallfields")? { UpdateMode::Record } else { UpdateMode::Field },
        fields,
    };
    if properties.text("readallfields").is_some() && !flag(&properties, "readallfields")? {
        let note = "`readallfields` = false has no effect: a record is one value and is read whole";
        properties.notes.push(note.to_owned());
    }
    let run_properties = run_properties(&properties)?;
    let threads = settings.threads.or(properties.value("threadcount", "a number of threads")?).unwrap_or(1);
    let notes = properties.notes.into_iter().chain(assumed).chain(run_properties.notes(settings)).collect();
    Ok(ResolvedSettings { spec, threads, run_properties, notes })
}

fn bad(name: &'static str, got: impl ToString, wanted: &'static str) -> KvError {
    KvError::BadSetting { name, got: got.to_string(), wanted }
}

/// Whether `name` is true. Default: false, as in YCSB.
fn flag(properties: &Properties, name: &'static str) -> Result<bool, KvError> {
    match properties.text(name).map(str::to_ascii_lowercase).as_deref() {
        Some("true") => Ok(true),
        Some("false") | None => Ok(false),
        Some(other) => Err(bad(name, other, "write true or false")),
    }
}

/// The value of `name`, or `default`.
fn value<T: FromStr>(properties: &Properties, name: &'static str, wanted: &str, default: T) -> Result<T, KvError> {
    Ok(properties.value(name, wanted)?.unwrap_or(default))
}

fn mix(properties: &Properties) -> Result<(YcsbMix, Option<String>), KvError> {
    let share = |name, default| -> Result<f64, KvError> {
        let wanted = "write a share from 0 to 1";
        let share: f64 = value(properties, name, wanted, default)?;
        if share.is_finite() && share >= 0.0 { Ok(share) } else { Err(bad(name, share, wanted)) }
    };
    let shares = [
        share("readproportion", 0.95)?,
        share("updateproportion", 0.05)?,
        share("insertproportion", 0.0)?,
        share("scanproportion", 0.0)?,
        share("readmodifywriteproportion", 0.0)?,
    ];
    let sum: f64 = shares.iter().sum();
    if sum <= 0.0 {
        let names = "readproportion, updateproportion, insertproportion, scanproportion, readmodifywriteproportion";
        return Err(bad(names, sum, "at least one must be above 0"));
    }
    let assumed = ((sum - 1.0).abs() > 1e-9)
        .then(|| format!("the proportions add up to {sum}; they were divided by that, as YCSB does"));
    Ok((YcsbMix { shares: shares.map(|share| share / sum), scan_lengths: scan_lengths(properties)? }, assumed))
}

fn scan_lengths(properties: &Properties) -> Result<IntegerDistribution, KvError> {
    let min: u64 = value(properties, "minscanlength", AT_LEAST_ONE, 1)?;
    let max: u64 = value(properties, "maxscanlength", AT_LEAST_ONE, 1000)?;
    if min == 0 || min > max {
        return Err(bad("minscanlength", min, "write a number from 1 to `maxscanlength`"));
    }
    if max > SCAN_LENGTH_MAX {
        return Err(bad("maxscanlength", max, "a scan takes 4294967295 records at most"));
    }
    match properties.text("scanlengthdistribution").unwrap_or("uniform") {
        "uniform" => Ok(IntegerDistribution::uniform(min, max)),
        "zipfian" => Ok(IntegerDistribution::zipfian(min, max)),
        other => Err(bad("scanlengthdistribution", other, "write uniform or zipfian")),
    }
}

fn records(settings: &KvSettings, properties: &mut Properties) -> Result<u64, KvError> {
    let run_properties = settings.records.or(properties.value("recordcount", AT_LEAST_ONE)?);
    Ok(run_properties.unwrap_or_else(|| {
        let note = "`recordcount` is not set: the default is 1000 records (YCSB uses 2147483647)";
        properties.notes.push(note.to_owned());
        1000
    }))
}

/// The range of the `records` records that is loaded.
fn part(properties: &Properties, records: u64) -> Result<RecordRange, KvError> {
    let first: u64 = value(properties, "insertstart", A_NUMBER, 0)?;
    let Some(rest) = records.checked_sub(first).filter(|rest| *rest > 0 || records == 0) else {
        return Err(bad("insertstart", first, "write a number below the number of records"));
    };
    let loaded: u64 = value(properties, "insertcount", AT_LEAST_ONE, rest)?;
    if loaded > rest || (loaded == 0 && records > 0) {
        let wanted = "write a number from 1; `insertstart` + `insertcount` must not be above the number of records";
        return Err(bad("insertcount", loaded, wanted));
    }
    Ok(RecordRange { first, loaded, next: records })
}

fn keys(properties: &Properties) -> Result<KeyForm, KvError> {
    let zero_padding: u32 = value(properties, "zeropadding", "write a number of digits", 1)?;
    if zero_padding > ZERO_PADDING_MAX {
        return Err(bad("zeropadding", zero_padding, "write a number of digits from 0 to 1000"));
    }
    // No key has fewer digits than one.
    let zero_padding = zero_padding.max(1);
    match properties.text("insertorder").unwrap_or("hashed") {
        "hashed" => Ok(KeyForm::Ycsb { hashed: true, zero_padding }),
        "ordered" => Ok(KeyForm::Ycsb { hashed: false, zero_padding }),
        other => Err(bad("insertorder", other, "write hashed or ordered")),
    }
}

fn lengths(settings: &KvSettings, properties: &mut Properties, fields: u32) -> Result<ValueLengths, KvError> {
    let max: u32 = settings.field_length.or(properties.value("fieldlength", A_NUMBER)?).unwrap_or(100);
    let min: u32 = value(properties, "minfieldlength", A_NUMBER, 1)?;
    let form = properties.text("fieldlengthdistribution").unwrap_or("constant").to_owned();
    if flag(properties, "dataintegrity")? {
        if form != "constant" {
            return Err(bad("dataintegrity", true, "needs `fieldlengthdistribution` constant, as in YCSB"));
        }
        let note = "`dataintegrity` has no effect: every read is verified (see docs/kv.md)";
        properties.notes.push(note.to_owned());
    }
    let between = |draw: fn(u64, u64) -> IntegerDistribution| {
        if min > max {
            return Err(bad("minfieldlength", min, "write a number from 0 to `fieldlength`"));
        }
        Ok(FieldLength::Range(draw(min.into(), max.into())))
    };
    let each = match form.as_str() {
        "constant" => return Ok(ValueLengths::Constant(fields as usize * max as usize)),
        "uniform" => between(IntegerDistribution::uniform)?,
        "zipfian" => between(IntegerDistribution::zipfian)?,
        "histogram" => {
            let path = properties.text("fieldlengthhistogram").unwrap_or("hist.txt");
            FieldLength::Histogram(LengthHistogram::of_file(Path::new(path))?)
        }
        other => {
            return Err(bad("fieldlengthdistribution", other, "write constant, uniform, zipfian or histogram"));
        }
    };
    Ok(ValueLengths::Fields(FieldLengths { fields, each }))
}

fn popularity(settings: &KvSettings, properties: &Properties) -> Result<PopularityDistribution, KvError> {
    // YCSB's own default is uniform.
    let name = properties.text("requestdistribution").unwrap_or("uniform");
    let kind = match settings.distribution {
        Some(kind) => kind,
        None => serde_json::from_value(name.into()).map_err(|_| {
            let wanted = "write uniform, zipfian, ycsb-zipfian, latest, hotspot, exponential or sequential";
            bad("requestdistribution", name, wanted)
        })?,
    };
    let number = |name, default| value(properties, name, "write a number", default);
    let exponent = settings.exponent.unwrap_or(EXPONENT);
    let popularity = match kind {
        KeyDistribution::Zipfian => PopularityDistribution::Zipfian { exponent },
        KeyDistribution::Latest => PopularityDistribution::Latest { exponent },
        _ if settings.exponent.is_some() => {
            return Err(bad("exponent", exponent, "only the distributions zipfian and latest take one"));
        }
        KeyDistribution::Uniform => PopularityDistribution::Uniform,
        KeyDistribution::YcsbZipfian => PopularityDistribution::YcsbZipfian,
        KeyDistribution::Sequential => PopularityDistribution::Sequential,
        KeyDistribution::Hotspot => PopularityDistribution::Hotspot {
            records: number("hotspotdatafraction", 0.2)?,
            requests: number("hotspotopnfraction", 0.8)?,
        },
        KeyDistribution::Exponential => PopularityDistribution::Exponential {
            percentile: number("exponential.percentile", 95.0)?,
            fraction: number("exponential.frac", 0.857_142_857_1)?,
        },
    };
    Ok(popularity)
}

fn run_properties(properties: &Properties) -> Result<RunProperties, KvError> {
    let above_zero =
        |name| -> Result<Option<u64>, KvError> { Ok(properties.value(name, A_NUMBER)?.filter(|count| *count > 0)) };
    let target: Option<f64> = properties.value("target", "write a number of operations per second")?;
    if let Some(target) = target.filter(|target| !(target.is_finite() && *target >= 0.0)) {
        return Err(bad("target", target, "write a number of operations per second, or 0 for no limit"));
    }
    Ok(RunProperties {
        target: target.filter(|target| *target > 0.0),
        max_execution_s: above_zero("maxexecutiontime")?,
        operation_count: above_zero("operationcount")?,
    })
}

impl RunProperties {
    fn notes(self, settings: &KvSettings) -> Vec<String> {
        let note = |name, value: u64| {
            format!("`{name}` = {value} applies to `manometer kv`; in an experiment it has no effect")
        };
        let count = self.operation_count.filter(|_| settings.operations.is_none());
        let notes = [
            count.map(|count| note("operationcount", count)),
            self.max_execution_s.map(|seconds| note("maxexecutiontime", seconds)),
        ];
        notes.into_iter().flatten().collect()
    }
}
