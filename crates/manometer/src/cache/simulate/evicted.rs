//! What `--evictions` lists: the evictions of each cache, and the objects that were requested last.

use manometer_cache::PolicySpec;
use manometer_cache::evictions::{CacheEvictions, EvictingRequest, Evictions, RecentObject};
use manometer_cache::key_id::KeyId;
use manometer_trace::TraceReader;
use serde_json::{Value, json};

use crate::cache::capacity::Unit;
use crate::table::table;

/// The names of keys: their texts in the trace, or their numbers.
pub(super) struct KeyNames {
    keys: Vec<u64>,
    /// A reader that kept the texts.
    reader: Box<dyn TraceReader>,
}

impl KeyNames {
    /// The names of the keys of each ID, from the reader that read them.
    pub(super) fn new(keys: Vec<u64>, reader: Box<dyn TraceReader>) -> Self {
        Self { keys, reader }
    }

    fn name(&self, id: KeyId) -> String {
        let key = self.keys[id as usize];
        match self.reader.keys().and_then(|texts| texts.text(key)) {
            Some(text) => String::from_utf8_lossy(text).into_owned(),
            None => key.to_string(),
        }
    }
}

/// Evictions with the names of policies and keys.
pub(super) struct NamedEvictions<'a> {
    pub(super) evictions: Evictions,
    pub(super) keys: &'a KeyNames,
    pub(super) policies: &'a [PolicySpec],
    pub(super) unit: &'a Unit,
}

impl NamedEvictions<'_> {
    fn names(&self, ids: &[KeyId]) -> Vec<String> {
        ids.iter().map(|id| self.keys.name(*id)).collect()
    }

    pub(super) fn json(&self) -> Value {
        let Evictions { caches, recent, more } = &self.evictions;
        let request = |EvictingRequest { time, id, evicted, more }: &EvictingRequest| json!({ "time": time, "key": self.keys.name(*id), "evicted": self.names(evicted), "more": more });
        let cache = |cache: &CacheEvictions| {
            json!({
                "policy": self.policies[cache.policy].to_string(),
                "capacity": cache.capacity,
                "requests": cache.requests.iter().map(request).collect::<Vec<Value>>(),
                "more": cache.more,
                "cached": self.names(&cached(cache, recent)),
            })
        };
        let object = |object: &RecentObject| {
            json!({
                "key": self.keys.name(object.id),
                "times": object.times,
                "earlier": object.earlier,
                "recency": object.recency,
                "irr": object.inter_reference_recency,
            })
        };
        json!({
            "caches": caches.iter().map(cache).collect::<Vec<Value>>(),
            "objects": recent.iter().map(object).collect::<Vec<Value>>(),
            "more_objects": more,
        })
    }

    pub(super) fn text(&self) -> String {
        let caches = self.evictions.caches.iter().map(|cache| self.cache_text(cache));
        caches.chain([self.objects_text()]).collect::<Vec<String>>().join("\n\n")
    }

    fn cache_name(&self, cache: &CacheEvictions) -> String {
        format!("{} at {}", self.policies[cache.policy], self.unit.text(cache.capacity))
    }

    fn cache_text(&self, cache: &CacheEvictions) -> String {
        if cache.requests.is_empty() {
            return format!("{} evicted nothing", self.cache_name(cache));
        }
        let mut table = table(&["time", "requested", "evicted"], 3);
        for EvictingRequest { time, id, evicted, more } in &cache.requests {
            let rest = if *more > 0 { format!(" and {more} more") } else { String::new() };
            table.add_row([time.to_string(), self.keys.name(*id), format!("{}{rest}", self.names(evicted).join(" "))]);
        }
        let mut text = format!("{} evicted:\n{table}", self.cache_name(cache));
        if cache.more > 0 {
            text += &format!("\n{} more requests evicted objects", cache.more);
        }
        text
    }

    /// The recency of the last requested objects, and where they are cached.
    fn objects_text(&self) -> String {
        let Evictions { caches, recent, more } = &self.evictions;
        let names: Vec<String> = caches.iter().map(|cache| self.cache_name(cache)).collect();
        let head = ["object", "requested at", "recency", "IRR"].into_iter().chain(names.iter().map(String::as_str));
        let mut table = table(&head.collect::<Vec<&str>>(), 2);
        for (place, object) in recent.iter().enumerate() {
            let RecentObject { id, times, earlier, recency, inter_reference_recency } = object;
            let times: Vec<String> = times.iter().map(u64::to_string).collect();
            let before = if *earlier > 0 { format!("{earlier} times before, ") } else { String::new() };
            let irr = inter_reference_recency.map_or_else(|| "inf".to_owned(), |irr| irr.to_string());
            let held = caches.iter().map(|cache| if cache.is_cached[place] { "cached" } else { "" }.to_owned());
            let first = [self.keys.name(*id), format!("{before}{}", times.join(" ")), recency.to_string(), irr];
            table.add_row(first.into_iter().chain(held));
        }
        let mut text = format!(
            "Objects after the last request. Recency: other objects requested since; inter-reference recency (IRR): \
             between the last two requests.\n{table}"
        );
        if *more > 0 {
            text += &format!("\n{more} more objects were requested before these");
        }
        text
    }
}

/// Those of the recent objects that a cache holds.
fn cached(cache: &CacheEvictions, recent: &[RecentObject]) -> Vec<KeyId> {
    recent.iter().zip(&cache.is_cached).filter(|(_, is_cached)| **is_cached).map(|(object, _)| object.id).collect()
}
