//! Reads and checks price files.

use serde::Deserialize;
use toml::{Spanned, Value};

use super::positive::{optional_positive, positive};
use super::price::{DeviceKind, Electricity, Price, Prices};
use crate::CacheError;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceFile {
    #[serde(default)]
    price: Vec<Spanned<RawPrice>>,
    electricity: Option<Spanned<RawElectricity>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    device: Option<String>,
    product: Option<String>,
    kind: Option<DeviceKind>,
    price: Option<f64>,
    size_gb: Option<f64>,
    price_per_gb: Option<f64>,
    range: Option<[f64; 2]>,
    currency: Option<String>,
    date: Option<Value>,
    source: Option<String>,
    watts: Option<f64>,
    endurance_tb: Option<f64>,
    data_sheet: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawElectricity {
    price_per_kwh: f64,
    currency: Option<String>,
    date: Option<Value>,
    source: Option<String>,
}

impl Prices {
    /// Reads the prices in `text`, the content of `file`.
    ///
    /// # Errors
    /// The first problem, with its line.
    pub fn read(file: &str, text: &str) -> Result<Self, CacheError> {
        let document: PriceFile =
            toml::from_str(text).map_err(|error| CacheError::Invalid(format!("{file}: no prices: {error}")))?;
        let at = |start: usize, error: CacheError| {
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            CacheError::Invalid(format!("{file}:{line}: {error}"))
        };
        let mut prices = Self { currency: String::new(), electricity: None, devices: Vec::new() };
        for table in document.price {
            let start = table.span().start;
            prices.add(table.into_inner()).map_err(|error| at(start, error))?;
        }
        if prices.devices.is_empty() {
            return Err(CacheError::Invalid(format!("{file}: there are no prices in it: write `[[price]]` tables")));
        }
        if let Some(table) = document.electricity {
            let start = table.span().start;
            let named = |error| CacheError::Invalid(format!("the price of electricity: {error}"));
            prices.take_electricity(table.into_inner()).map_err(|error| at(start, named(error)))?;
        }
        Ok(prices)
    }

    fn add(&mut self, table: RawPrice) -> Result<(), CacheError> {
        let device = given("device", table.device.clone())?;
        let named = |error| CacheError::Invalid(format!("the price of `{device}`: {error}"));
        if self.devices.iter().any(|known| known.device == device) {
            return Err(named(CacheError::Invalid("it is given twice".to_owned())));
        }
        self.take_currency(table.currency.clone()).map_err(named)?;
        let price = table.check(device.clone()).map_err(named)?;
        self.devices.push(price);
        Ok(())
    }

    fn take_electricity(&mut self, table: RawElectricity) -> Result<(), CacheError> {
        self.take_currency(table.currency)?;
        self.electricity = Some(Electricity {
            per_kwh: positive("price_per_kwh", table.price_per_kwh)?,
            date: date(table.date)?,
            source: given("source", table.source)?,
        });
        Ok(())
    }

    fn take_currency(&mut self, currency: Option<String>) -> Result<(), CacheError> {
        let currency = given("currency", currency)?;
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(CacheError::Invalid(format!("it is in `{currency}`: write three letters, as USD")));
        }
        if !self.currency.is_empty() && self.currency != currency {
            return Err(CacheError::Invalid(format!(
                "it is in {currency}, others are in {}: write all in one currency",
                self.currency
            )));
        }
        self.currency = currency;
        Ok(())
    }
}

impl RawPrice {
    fn check(self, device: String) -> Result<Price, CacheError> {
        let (per_gb, size_gb) = match (self.price, self.size_gb, self.price_per_gb) {
            (Some(price), Some(size), None) => {
                let size = positive("size_gb", size)?;
                (positive("price", price)? / size, Some(size))
            }
            (None, None, Some(per_gb)) => (positive("price_per_gb", per_gb)?, None),
            _ => {
                let text = "write `price` and `size_gb` of a whole device, or only `price_per_gb`";
                return Err(CacheError::Invalid(text.to_owned()));
            }
        };
        let per_gb_interval = self.interval(per_gb, size_gb)?;
        let rated = self.watts.is_some() || self.endurance_tb.is_some();
        if rated && self.data_sheet.as_deref().unwrap_or_default().trim().is_empty() {
            return Err(missing("data_sheet", "where `watts` and `endurance_tb` are from"));
        }
        let kind = self.kind.ok_or_else(|| missing("kind", "\"hdd\" or \"ssd\""))?;
        if kind == DeviceKind::Hdd && self.endurance_tb.is_some() {
            return Err(CacheError::Invalid("`endurance_tb` is for SSDs, which writes wear".to_owned()));
        }
        Ok(Price {
            device,
            product: given("product", self.product)?,
            kind,
            per_gb,
            per_gb_interval,
            size_gb,
            date: date(self.date)?,
            source: given("source", self.source)?,
            watts: optional_positive("watts", self.watts)?,
            endurance_tb: optional_positive("endurance_tb", self.endurance_tb)?,
            data_sheet: self.data_sheet,
        })
    }

    /// The range per GB, which is given in the unit of the price.
    fn interval(&self, per_gb: f64, size_gb: Option<f64>) -> Result<[f64; 2], CacheError> {
        let Some([low, high]) = self.range else { return Ok([per_gb; 2]) };
        let price = self.price.unwrap_or(per_gb);
        if !(low > 0.0 && low <= price && price <= high && high.is_finite()) {
            return Err(CacheError::Invalid(format!(
                "`range` is [{low}, {high}]: write the lowest and the highest offer, with the price, {price}, between them"
            )));
        }
        Ok([low, high].map(|end| end / size_gb.unwrap_or(1.0)))
    }
}

fn missing(field: &str, wanted: &str) -> CacheError {
    CacheError::Invalid(format!("there is no `{field}`: write {wanted}"))
}

fn given(field: &str, text: Option<String>) -> Result<String, CacheError> {
    let wanted = match field {
        "device" => "its name in the results",
        "currency" => "three letters, as USD",
        "source" => "where the price comes from",
        _ => "the product as it is sold",
    };
    text.filter(|text| !text.trim().is_empty()).ok_or_else(|| missing(field, wanted))
}

/// A date: a year, a month or a day.
fn date(value: Option<Value>) -> Result<String, CacheError> {
    let text = match value {
        Some(Value::String(text)) => text,
        Some(Value::Integer(year)) => year.to_string(),
        Some(Value::Datetime(date)) => date.to_string(),
        _ => String::new(),
    };
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.splitn(3, '-').collect();
    let right = parts.iter().zip([4, 2, 2]).all(|(part, count)| digits(part, count));
    if right { Ok(text) } else { Err(missing("date", "when it cost that, as 2015, 2015-06 or 2015-06-30")) }
}
