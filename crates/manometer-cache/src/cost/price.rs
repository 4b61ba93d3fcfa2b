//! What devices and electricity cost, from a file of prices.

use serde::Deserialize;
use toml::{Spanned, Value};

use super::level::Level;
use super::number::{above_zero, above_zero_if_given};
use crate::CacheError;

/// The bytes of a GB as shops sell it.
const GB: f64 = 1e9;
/// How many times its size on paper a device may hold: makers agreed on a few sectors more.
const SOLD_BELOW: f64 = 1.01;

/// What a device stores in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// On turning platters.
    Hdd,
    /// In flash, which writes wear.
    Ssd,
}

/// What a device costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// What results call it.
    pub device: String,
    /// What it is sold as.
    pub product: String,
    /// What it stores in.
    pub kind: Kind,
    /// The price of one GB.
    pub per_gb: f64,
    /// The GB of a whole device, where devices are bought whole.
    pub size_gb: Option<f64>,
    /// When it cost that.
    pub date: String,
    /// Who says so.
    pub source: String,
    /// The power that it draws.
    pub watts: Option<f64>,
    /// The bytes, in 10^12, that may be written to it.
    pub endurance_tb: Option<f64>,
    /// Who says that.
    pub data_sheet: Option<String>,
}

/// What electricity costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Electricity {
    /// The price of a kWh.
    pub per_kwh: f64,
    /// When it cost that.
    pub date: String,
    /// Who says so.
    pub source: String,
}

/// A file of prices, all in one currency.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    /// Three letters, as `USD`.
    pub currency: String,
    /// What a kWh costs.
    pub electricity: Option<Electricity>,
    /// What devices cost.
    pub devices: Vec<Price>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    price: Vec<Spanned<PriceTable>>,
    electricity: Option<Spanned<ElectricityTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    device: Option<String>,
    product: Option<String>,
    kind: Option<Kind>,
    price: Option<f64>,
    size_gb: Option<f64>,
    price_per_gb: Option<f64>,
    currency: Option<String>,
    date: Option<Value>,
    source: Option<String>,
    watts: Option<f64>,
    endurance_tb: Option<f64>,
    data_sheet: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ElectricityTable {
    price_per_kwh: f64,
    currency: Option<String>,
    date: Option<Value>,
    source: Option<String>,
}

impl Prices {
    /// Reads the prices in `text`, the content of `file`.
    ///
    /// # Errors
    /// What is wrong with them, with its line.
    pub fn read(file: &str, text: &str) -> Result<Self, CacheError> {
        let document: Document =
            toml::from_str(text).map_err(|error| CacheError::Wrong(format!("{file}: no prices: {error}")))?;
        let at = |start: usize, error: CacheError| {
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            CacheError::Wrong(format!("{file}:{line}: {error}"))
        };
        let mut prices = Self { currency: String::new(), electricity: None, devices: Vec::new() };
        for table in document.price {
            let start = table.span().start;
            prices.add(table.into_inner()).map_err(|error| at(start, error))?;
        }
        if prices.devices.is_empty() {
            return Err(CacheError::Wrong(format!("{file}: there are no prices in it: write `[[price]]` tables")));
        }
        if let Some(table) = document.electricity {
            let start = table.span().start;
            let named = |error| CacheError::Wrong(format!("the price of electricity: {error}"));
            prices.take_electricity(table.into_inner()).map_err(|error| at(start, named(error)))?;
        }
        Ok(prices)
    }

    fn add(&mut self, table: PriceTable) -> Result<(), CacheError> {
        let device = given("device", table.device.clone())?;
        let named = |error| CacheError::Wrong(format!("the price of `{device}`: {error}"));
        if self.devices.iter().any(|known| known.device == device) {
            return Err(named(CacheError::Wrong("it is given twice".to_owned())));
        }
        self.take_currency(table.currency.clone()).map_err(named)?;
        let price = table.check(device.clone()).map_err(named)?;
        self.devices.push(price);
        Ok(())
    }

    fn take_electricity(&mut self, table: ElectricityTable) -> Result<(), CacheError> {
        self.take_currency(table.currency)?;
        self.electricity = Some(Electricity {
            per_kwh: above_zero("price_per_kwh", table.price_per_kwh)?,
            date: date(table.date)?,
            source: given("source", table.source)?,
        });
        Ok(())
    }

    fn take_currency(&mut self, currency: Option<String>) -> Result<(), CacheError> {
        let currency = given("currency", currency)?;
        if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return Err(CacheError::Wrong(format!("it is in `{currency}`: write three letters, as USD")));
        }
        if !self.currency.is_empty() && self.currency != currency {
            return Err(CacheError::Wrong(format!(
                "it is in {currency}, others are in {}: write all in one currency",
                self.currency
            )));
        }
        self.currency = currency;
        Ok(())
    }

    /// What `device` costs.
    ///
    /// # Errors
    /// It has no price; those that have are listed.
    pub fn of(&self, device: &str) -> Result<&Price, CacheError> {
        self.devices.iter().find(|price| price.device == device).ok_or_else(|| {
            let known: Vec<&str> = self.devices.iter().map(|price| price.device.as_str()).collect();
            CacheError::Wrong(format!("`{device}` has no price; these have: {}", known.join(", ")))
        })
    }
}

impl PriceTable {
    fn check(self, device: String) -> Result<Price, CacheError> {
        let (per_gb, size_gb) = match (self.price, self.size_gb, self.price_per_gb) {
            (Some(price), Some(size), None) => {
                let size = above_zero("size_gb", size)?;
                (above_zero("price", price)? / size, Some(size))
            }
            (None, None, Some(per_gb)) => (above_zero("price_per_gb", per_gb)?, None),
            _ => {
                let text = "write `price` and `size_gb` of a whole device, or `price_per_gb` alone";
                return Err(CacheError::Wrong(text.to_owned()));
            }
        };
        let rated = self.watts.is_some() || self.endurance_tb.is_some();
        if rated && self.data_sheet.as_deref().unwrap_or_default().trim().is_empty() {
            return Err(missing("data_sheet", "where `watts` and `endurance_tb` are from"));
        }
        let kind = self.kind.ok_or_else(|| missing("kind", "\"hdd\" or \"ssd\""))?;
        if kind == Kind::Hdd && self.endurance_tb.is_some() {
            return Err(CacheError::Wrong("`endurance_tb` is for SSDs, which writes wear".to_owned()));
        }
        Ok(Price {
            device,
            product: given("product", self.product)?,
            kind,
            per_gb,
            size_gb,
            date: date(self.date)?,
            source: given("source", self.source)?,
            watts: above_zero_if_given("watts", self.watts)?,
            endurance_tb: above_zero_if_given("endurance_tb", self.endurance_tb)?,
            data_sheet: self.data_sheet,
        })
    }
}

impl Price {
    /// The GB that are bought for a level: of whole devices, or those that it takes.
    pub(super) fn gb_bought(&self, level: &Level) -> Result<f64, CacheError> {
        let needed = level.raw_bytes() / GB;
        let Some(size) = self.size_gb else { return Ok(needed) };
        let bought = f64::from(level.count) * size;
        if needed > bought * SOLD_BELOW {
            return Err(CacheError::Wrong(format!(
                "{needed} GB with their copies do not fit on {} × {} ({size} GB each): price a larger device",
                level.count, self.device
            )));
        }
        Ok(bought)
    }
}

fn missing(field: &str, wanted: &str) -> CacheError {
    CacheError::Wrong(format!("there is no `{field}`: write {wanted}"))
}

fn given(field: &str, text: Option<String>) -> Result<String, CacheError> {
    let wanted = match field {
        "device" => "what results call it",
        "currency" => "three letters, as USD",
        "source" => "who says so",
        _ => "what it is sold as",
    };
    text.filter(|text| !text.trim().is_empty()).ok_or_else(|| missing(field, wanted))
}

/// A year, a month or a day.
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
