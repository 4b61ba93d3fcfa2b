//! A small trace, advised on.

use manometer_cache::advise::{Advice, AdviseRequest, SHIPPED_PRICES, advise};
use manometer_cache::cost::Prices;
use manometer_measure::ByteSize;
use manometer_trace::{ReadOptions, open_stream};

/// The advice for a trace of a loop among scattered keys.
pub fn advice(name: &str) -> Advice {
    let key = |request: u64| if request.is_multiple_of(3) { request % 300 } else { 1000 + request * request % 4003 };
    let text: String = (0..6000).map(|request| format!("{}\n", key(request))).collect();
    let request = AdviseRequest {
        name: name.to_owned(),
        object_size: ByteSize(4096),
        threads: 4,
        arrangements: Vec::new(),
        prices: Prices::read(SHIPPED_PRICES.0, SHIPPED_PRICES.1).unwrap(),
        prices_name: SHIPPED_PRICES.0.to_owned(),
        goals: vec!["trace>=1MB/s".parse().unwrap()],
        today_unix_s: 1_795_651_200,
    };
    let opens = || {
        let reader = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
        Ok(open_stream(reader, &ReadOptions::default())?.reader)
    };
    advise(&opens, &request).unwrap()
}
