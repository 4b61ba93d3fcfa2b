//! `manometer cache cost`.

use manometer_testing::repository_file;
use serde_json::{Value, json};

use crate::support::Scene;

const SHOP: &str = r#"
[electricity]
price_per_kwh = 0.1
currency = "EUR"
date = 2026
source = "a bill"
[[price]]
device = "ssd"
product = "an SSD"
kind = "ssd"
price = 50
size_gb = 100
currency = "EUR"
date = 2026
source = "a shop"
watts = 5
endurance_tb = 31.5576
data_sheet = "its data sheet"
[[price]]
device = "flash"
product = "another SSD"
kind = "ssd"
price_per_gb = 1
currency = "EUR"
date = 2026
source = "a shop"
[[price]]
device = "hdd"
product = "a disk"
kind = "hdd"
price_per_gb = 0.02
currency = "EUR"
date = 2026
source = "a shop"
watts = 10
data_sheet = "its data sheet"
"#;
const RESULTS: &str = r#"{"results": [
  {"arrangement": "alone", "workload": "mail", "mb_per_s": 10, "requests_per_s": 500, "seconds": 50,
   "origin": {"device": "hdd", "count": 1, "bytes": 1000000000000}, "cache": null, "ssd_bytes_written": null},
  {"arrangement": "cached", "workload": "mail", "mb_per_s": 30, "requests_per_s": 2000, "seconds": 50, "hits": 0.7,
   "origin": {"device": "hdd", "count": 1, "bytes": 1000000000000},
   "cache": {"device": "ssd", "count": 1, "bytes": 90000000000}, "ssd_bytes_written": 50000000}
]}"#;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("shop.toml", SHOP);
    scene.write("results.json", RESULTS);
    scene
}

fn shipped(name: &str) -> String {
    repository_file("arrangements").join(name).display().to_string()
}

#[test]
fn the_shipped_example_gives_the_thesis_its_table() {
    let (results, prices) = (shipped("thesis.json"), shipped("prices-2015.toml"));
    let output = scene().run(&format!("cache cost {results} --prices {prices} --per-gb --goal fileserver>=90"));
    let expected = [
        "USD",
        "c_d × 1 000",
        "0.1245",
        "181.67",
        "205.71",
        "never pays, even at no cost",
        "dmcache-1s-4h0 (0.288) USD per GB of data",
    ];
    output.status(0).out_has(&expected).out_has(&["also: dmcache-4s0-4h0 (0.498), 4s0 (1.40)", "Table 6.2"]);
    let document = scene().run(&format!("cache cost {results} --prices {prices} --format json")).status(0).json();
    assert_eq!(
        (&document["rule"], &document["currency"], &document["years"]),
        (&json!("money"), &json!("USD"), &Value::Null)
    );
    assert_eq!(document["results"].as_array().unwrap().len(), 45);
    // Bought by the GB, mirrored disks hold all twice.
    let cost = |name: &str| {
        let results = document["results"].as_array().unwrap();
        results.iter().find(|result| result["arrangement"] == name).unwrap()["cost"].as_f64().unwrap()
    };
    assert!((cost("4h0") - 8.175).abs() < 1e-9 && (cost("4h10") - 16.35).abs() < 1e-9);
    assert_eq!(document["results"][3]["ssd_life_reason"], json!("the prices have no `endurance_tb` for `ssd`"));
}

#[test]
fn old_prices_are_said_to_be_old() {
    let scene = scene();
    let is_said = |date: &str| {
        scene.write("dated.toml", &SHOP.replace("date = 2026", &format!("date = \"{date}\"")));
        let words = "cache cost results.json --prices dated.toml";
        let text = scene.run(words).status(0).out();
        let document = scene.run(&format!("{words} --format json")).status(0).json();
        (text.contains("years old: the costs are not today's"), document["prices"][0]["is_old"] == json!(true))
    };
    assert_eq!((is_said("2015-03"), is_said("2999")), ((true, true), (false, false)));
}

#[test]
fn devices_of_the_file_can_stand_in_for_the_results_own() {
    let (results, prices) = (shipped("thesis.json"), shipped("prices-2015.toml"));
    let output = scene()
        .run(&format!(
            "cache cost {results} --prices {prices} --priced-as ssd=intel-320 --priced-as hdd=hitachi-7k3000 --years 5"
        ))
        .status(0);
    let expected =
        ["Cost in USD over 5 years: devices", "no `watts` for `hitachi-7k3000`", "Intel SSDSA2BW160G3H, 2015"];
    output.out_has(&expected).out_has(&[
        "0.15 W (Intel SSD 320 Series",
        "worn SSDs: not counted",
        "no `endurance_tb` for `intel-320`",
        "383",
    ]);
}

#[test]
fn all_that_is_counted_is_in_the_machine_form() {
    let output = scene().run("cache cost results.json --prices shop.toml --years 3.5 --goal mail>=20 --format json");
    let document = output.status(0).json();
    let cached = &document["results"][1];
    let near = |value: &Value, right: f64| (value.as_f64().unwrap() - right).abs() < 1e-9 * right;
    assert!(near(&cached["parts"]["devices"], 70.0) && near(&cached["parts"]["replacement"], 150.0), "{cached}");
    assert!(near(&cached["parts"]["energy"], 46.0215) && near(&cached["cost"], 266.0215), "{cached}");
    assert!(near(&cached["cost_per_mb_per_s"], 266.0215 / 30.0), "{cached}");
    assert!(near(&cached["cost_per_1000_requests_per_s"], 133.01075), "{cached}");
    assert!(near(&cached["ssd_life_years"], 1.0), "{cached}");
    assert_eq!(document["results"][0]["ssd_life_reason"], json!("there is no SSD"));
    assert_eq!(document["left_out"], json!({ "energy": null, "replacement": null }));
    let goal = &document["goal"];
    assert_eq!((&goal["cheapest"], &goal["goals"]), (&json!("cached"), &json!(["mail ≥ 20 MB/s"])));
    let paid = &document["break_even"][0];
    assert_eq!(
        (&paid["alone"], &paid["pays"], &paid["price_per_gb_now"]),
        (&json!("alone"), &json!(false), &json!(0.5))
    );
    let devices: Vec<&Value> = document["prices"].as_array().unwrap().iter().map(|price| &price["device"]).collect();
    assert_eq!(devices, ["ssd", "hdd"]);
    scene().run("cache cost results.json --prices shop.toml --years 3.5").status(0).out_has(&[
        "devices, energy, worn SSDs",
        "per 1 000 requests/s",
        "1.00 years",
        "5 W, 31.5576 TB written (its data sheet)",
        "electricity: 0.1 EUR per kWh, 2026 (a bill)",
        "would pay below",
    ]);
}

#[test]
fn a_goal_that_nothing_reaches_is_a_verdict() {
    let output = scene().run("cache cost results.json --prices shop.toml --goal mail>=31").status(3);
    output.out_has(&["No arrangement is known to reach mail ≥ 31 MB/s"]);
    let document =
        scene().run("cache cost results.json --prices shop.toml --goal mail>=31 --format json").status(3).json();
    assert_eq!(document["goal"]["cheapest"], Value::Null);
    scene()
        .run("cache cost results.json --prices shop.toml --goal mail>=15")
        .status(0)
        .out_has(&["cached (70.0) EUR\n"]);
}

#[test]
fn what_is_wrong_is_refused_with_what_would_be_right() {
    let scene = scene();
    scene.write("nothing.json", "{\"results\": []}");
    scene.write("free.toml", &SHOP.replace("price = 50", "price = -50"));
    scene.write(
        "undated.toml",
        &SHOP.replacen("size_gb = 100\ncurrency = \"EUR\"\ndate = 2026", "size_gb = 100\ncurrency = \"EUR\"", 1),
    );
    scene.write("still.json", &RESULTS.replace("\"mb_per_s\": 30", "\"mb_per_s\": 0"));
    let cases = [
        ("nowhere.json --prices shop.toml", "nowhere.json cannot be read"),
        ("results.json --prices nowhere.toml", "nowhere.toml cannot be read"),
        ("nothing.json --prices shop.toml", "there are no results in it"),
        ("results.json results.json --prices shop.toml", "was in results.json already"),
        ("results.json --prices free.toml", "free.toml:7: the price of `ssd`: `price` is -50"),
        ("results.json --prices undated.toml", "there is no `date`"),
        ("still.json --prices shop.toml", "`cached` on `mail`: `mb_per_s` is 0"),
        ("results.json --prices shop.toml --years 0", "write a number above zero"),
        ("results.json --prices shop.toml --years 5 --per-gb", "cannot be used with"),
        ("results.json --prices shop.toml --goal mail", "fileserver>=50MB/s"),
        ("results.json --prices shop.toml --goal web>=3", "no results of `web`, but of mail"),
        ("results.json --prices shop.toml --priced-as ssd", "ssd=intel-320"),
        ("results.json --prices shop.toml --priced-as ssd=optane", "these have: ssd, flash, hdd"),
        ("results.json --prices shop.toml --priced-as flash=ssd", "the results have no `flash`"),
        ("results.json --prices shop.toml --priced-as ssd=ssd --priced-as ssd=flash", "`ssd` is priced twice"),
        ("results.json", "--prices"),
    ];
    for (arguments, wanted) in cases {
        scene.run(&format!("cache cost {arguments}")).status(2).err_has(&[wanted]);
    }
}
