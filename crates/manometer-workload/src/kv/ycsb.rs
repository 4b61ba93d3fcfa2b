//! YCSB's core workloads: from settings and properties to what is asked.

use std::collections::BTreeMap;

use super::asker::YcsbMix;
use super::error::KvError;
use super::keys::KeyForm;
use super::lengths::Lengths;
use super::plan::{Asks, Expect, Resolved, Update, Work};
use super::properties::Properties;
use super::settings::{KeyDistribution, KvSettings};
use super::values::ValueForm;

/// Resolves `settings` and the properties that they name.
pub(super) fn resolve(settings: &KvSettings) -> Result<Resolved, KvError> {
    let mut properties = Properties::of_workload(&settings.workload)?;
    for (name, value) in &settings.properties {
        properties.set("properties".to_owned(), name, value)?;
    }
    let (mix, assumed) = mix(&properties, &settings.workload)?;
    let wanted = "a number of at least 1";
    let records = settings.records.or(properties.value("recordcount", wanted)?).unwrap_or(1000);
    let fields: u32 = settings.field_count.or(properties.value("fieldcount", wanted)?).unwrap_or(10);
    let length: u32 = settings.field_length.or(properties.value("fieldlength", wanted)?).unwrap_or(100);
    let work = Work {
        records,
        loaded: records,
        keys: KeyForm::YCSB,
        values: ValueForm { lengths: Lengths::Constant(fields as usize * length as usize) },
        distribution: distribution(settings, &properties)?,
        asks: Asks::Ycsb(mix),
        expect: Expect::Present,
        update: update(&properties)?,
        fields,
    };
    let threads = threads(settings, &properties)?;
    Ok(Resolved { work, threads, notes: properties.notes.into_iter().chain(assumed).collect() })
}

fn mix(properties: &Properties, workload: &str) -> Result<(YcsbMix, Option<String>), KvError> {
    let share = |name, unless_said| -> Result<f64, KvError> {
        let wanted = "write a share from 0 to 1";
        let value = properties.value::<f64>(name, wanted)?.unwrap_or(unless_said);
        if value.is_finite() && value >= 0.0 {
            return Ok(value);
        }
        Err(KvError::BadSetting { name, got: value.to_string(), wanted })
    };
    if share("insertproportion", 0.0)? > 0.0 {
        return Err(KvError::Grows(workload.to_owned()));
    }
    if share("scanproportion", 0.0)? > 0.0 {
        return Err(KvError::Scans(workload.to_owned()));
    }
    let shares = [
        share("readproportion", 0.95)?,
        share("updateproportion", 0.05)?,
        0.0,
        0.0,
        share("readmodifywriteproportion", 0.0)?,
    ];
    let sum: f64 = shares.iter().sum();
    if sum <= 0.0 {
        return Err(KvError::BadSetting {
            name: "readproportion, updateproportion, readmodifywriteproportion",
            got: sum.to_string(),
            wanted: "at least one must be above 0",
        });
    }
    let assumed = ((sum - 1.0).abs() > 1e-9)
        .then(|| format!("the proportions add up to {sum}; they were divided by that, as YCSB does"));
    Ok((YcsbMix { shares: shares.map(|share| share / sum) }, assumed))
}

fn distribution(settings: &KvSettings, properties: &Properties) -> Result<KeyDistribution, KvError> {
    if let Some(distribution) = settings.distribution {
        return Ok(distribution);
    }
    let names = BTreeMap::from([
        ("uniform", KeyDistribution::Uniform),
        ("zipfian", KeyDistribution::Zipfian),
        ("ycsb-zipfian", KeyDistribution::YcsbZipfian),
        ("latest", KeyDistribution::Latest),
    ]);
    // YCSB's own default is uniform.
    let name = properties.text("requestdistribution").unwrap_or("uniform");
    names.get(name).copied().ok_or_else(|| KvError::BadSetting {
        name: "requestdistribution",
        got: name.to_owned(),
        wanted: "write uniform, zipfian, ycsb-zipfian or latest; the others are not supported yet",
    })
}

fn update(properties: &Properties) -> Result<Update, KvError> {
    Ok(match properties.value::<bool>("writeallfields", "write true or false")? {
        Some(true) => Update::Record,
        // YCSB's own default: an update replaces one field.
        _ => Update::Field,
    })
}

fn threads(settings: &KvSettings, properties: &Properties) -> Result<u32, KvError> {
    let said = properties.value("threadcount", "a number of threads")?;
    Ok(if settings.threads == 1 { said.unwrap_or(1) } else { settings.threads })
}
