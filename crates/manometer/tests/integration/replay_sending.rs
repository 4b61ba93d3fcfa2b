//! What `manometer replay` sends to real servers, and when.

use manometer_measure::{Clock as _, MonotonicClock};
use manometer_testing::{Cause, skip};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::servers::{Memcached, Redis, free_port};
use crate::support::{Scene, signal_process, wait_for};

/// What `redis-cli MONITOR` prints.
const MONITOR: &str = r#"OK
1700000000.000100 [0 127.0.0.1:1] "SET" "{user1}:name" "value one" "EX" "100"
1700000000.000200 [0 127.0.0.1:1] "HSET" "h" "f" "v"
1700000000.000300 [0 127.0.0.1:1] "LPUSH" "l" "a" "b"
1700000000.000400 [0 127.0.0.1:1] "MGET" "{user1}:name" "nokey"
1700000000.000500 [0 127.0.0.1:1] "MSET" "m1" "1" "m2" "22"
1700000000.000600 [0 127.0.0.1:1] "INCR" "counter"
1700000000.000700 [0 127.0.0.1:1] "SET" "counter" "7" "NX"
1700000000.000800 [0 127.0.0.1:1] "DEL" "m1" "none"
1700000000.000900 [0 127.0.0.1:1] "HGET" "h" "g"
1700000000.001000 [0 127.0.0.1:1] "SMEMBERS" "empty"
1700000000.001100 [1 127.0.0.1:1] "SET" "{user1}:name" "other"
1700000000.001200 [0 127.0.0.1:1] "EXPIRE" "h" "1000"
"#;

/// The row of the table of what was sent that is about `what`: as recorded, otherwise, left out.
#[track_caller]
fn sent(document: &Value, what: &str) -> [u64; 3] {
    let rows = document["sent"].as_array().unwrap();
    let row = rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no {what}: {document}"));
    ["as_recorded", "otherwise", "left_out"].map(|name| row[name].as_u64().unwrap())
}

/// Replays `words` on a Redis server of the test's own, which keeps what it holds then.
fn replayed_on_redis(scene: &Scene, words: &str) -> Option<(Value, Redis)> {
    let port = free_port();
    let Some(server) = Redis::start(scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return None;
    };
    let words = format!("{words} --engine redis --option address=127.0.0.1:{port} --format json");
    Some((scene.run(&words).status(0).json(), server))
}

#[test]
fn redis_gets_the_commands_that_were_recorded() {
    for model in ["--model open", "--model closed-conservative --time full"] {
        let scene = Scene::new();
        scene.write("monitor.log", MONITOR);
        let Some((document, redis)) = replayed_on_redis(&scene, &format!("replay monitor.log {model}")) else { return };
        let one = |command: &str| redis.ask(command, 1)[0].clone();
        assert_eq!(document["fidelity"]["errors"], json!(0), "{model}: {document}");
        assert_eq!((one("TYPE h"), one("HGET h f"), one("GET counter")), ("hash".into(), "v".into(), "1".into()));
        assert_eq!(redis.ask("LRANGE l 0 -1", 2), ["b", "a"]);
        assert_eq!((one("GET m2"), one("EXISTS m1")), ("22".into(), "0".into()));
        assert_eq!((one("STRLEN {user1}:name"), one("STRLEN 1:{user1}:name")), ("9".into(), "5".into()));
        let ttl_s: i64 = one("TTL {user1}:name").parse().unwrap();
        assert!((1..=100).contains(&ttl_s), "{ttl_s}");
        // Of the two databases, and of MGET, MSET and DEL each key.
        assert_eq!(document["requests"], json!(14), "{document}");
        assert_eq!(
            (&document["operations"]["read"], &document["missing"]["read"]),
            (&json!(4), &json!(3)),
            "{document}"
        );
        assert_eq!(sent(&document, "requests"), [14, 0, 1], "EXPIRE is left out");
        assert_eq!(sent(&document, "keys"), [13, 1, 0], "the other database's key has its number in front");
        assert_eq!(sent(&document, "commands"), [10, 0, 0]);
        assert_eq!((sent(&document, "times to live"), sent(&document, "multi-gets")), ([1, 0, 0], [2, 0, 0]));
    }
}

#[test]
fn other_engines_get_what_comes_closest_and_the_result_says_so() {
    let scene = Scene::new();
    scene.write("monitor.log", MONITOR);
    let document = scene.run("replay monitor.log --engine map --value-size 10 --format json").status(0).json();
    assert_eq!((sent(&document, "commands"), sent(&document, "times to live")), ([0, 10, 0], [0, 0, 1]));
    assert_eq!(sent(&document, "multi-gets"), [0, 2, 0]);
    let words =
        ["commands", "as the gets, puts and deletes of map", "map keeps a value until it is replaced", "one by one"];
    scene.run("replay monitor.log --engine map --value-size 10").status(0).out_has(&words);
}

#[test]
fn commands_of_other_databases_are_counted_as_not_sent() {
    let scene = Scene::new();
    let line = |database: u64, words: &str| format!("1700000000.000100 [{database} 127.0.0.1:1] {words}\n");
    let commands = [line(0, r#""LPUSH" "l" "a""#), line(1, r#""LPUSH" "l" "b""#), line(1, r#""GET" "s""#)];
    scene.write("monitor.log", &commands.concat());
    let document = scene.run("replay monitor.log --engine map --value-size 10 --format json").status(0).json();
    assert_eq!(sent(&document, "commands"), [0, 2, 0], "{document}");
    let words = "replay monitor.log --model closed-conservative --time full --value-size 10";
    let Some((document, redis)) = replayed_on_redis(&scene, words) else { return };
    assert_eq!(sent(&document, "commands"), [1, 1, 0], "{document}");
    assert!(document["sent"].to_string().contains("1 of another database as the gets, puts and deletes"), "{document}");
    assert_eq!((redis.ask("TYPE l", 1)[0].as_str(), redis.ask("TYPE 1:l", 1)[0].as_str()), ("list", "string"));
}

#[test]
fn a_value_size_of_the_users_replaces_those_of_strings_only() {
    let scene = Scene::new();
    scene.write("monitor.log", MONITOR);
    let words = "replay monitor.log --value-size 50 --model closed-conservative --time full";
    let Some((document, redis)) = replayed_on_redis(&scene, words) else { return };
    assert_eq!((redis.ask("STRLEN m2", 1), redis.ask("HGET h f", 1)), (vec!["50".to_owned()], vec!["v".to_owned()]));
    assert_eq!(sent(&document, "commands"), [7, 3, 0], "MSET of two keys, and SET NX: {document}");
}

#[test]
fn what_is_loaded_for_commands_has_the_type_that_they_need() {
    let scene = Scene::new();
    let line = |at: u64, words: &str| format!("1700000000.{at:06} [0 127.0.0.1:1] {words}\n");
    let text = [r#""GET" "s""#, r#""LPUSH" "l" "a""#, r#""HGET" "h" "f""#];
    scene.write("monitor.log", &(0..).zip(text).map(|(at, words)| line(at, words)).collect::<String>());
    let words = "replay monitor.log --load --value-size 20 --model closed-conservative --time full";
    let Some((document, redis)) = replayed_on_redis(&scene, words) else { return };
    assert_eq!((&document["fidelity"]["errors"], &document["facts"]["records"]), (&json!(0), &json!(1)), "{document}");
    assert_eq!((redis.ask("STRLEN s", 1), redis.ask("LLEN l", 1)), (vec!["20".to_owned()], vec!["1".to_owned()]));
}

#[test]
fn memcached_gets_keys_sizes_and_times_to_live_as_recorded() {
    let scene = Scene::new();
    scene.write(
        "twitter.csv",
        "0,alpha:{1},9,20,1,set,100\n0,beta,4,30,1,set,0\n1,77,12,40,1,set,5000000\n1,gone,4,0,1,get,0\n",
    );
    let Some(server) = Memcached::start(free_port()) else {
        skip(Cause::Program, "memcached is not installed");
        return;
    };
    for model in ["--time scaled --factor 100", "--model closed-conservative --time full"] {
        server.ask("flush_all");
        let words =
            format!("replay twitter.csv --engine memcached --option address={} --option flush=true", server.address());
        let document = scene.run(&format!("{words} {model} --keep --format json")).status(0).json();
        assert_eq!(
            (&document["fidelity"]["errors"], &document["missing"]["read"]),
            (&json!(0), &json!(1)),
            "{document}"
        );
        let ttl_s = |key: &str| server.ask(&format!("mg {key} t"))[4..].parse::<i64>().unwrap();
        assert!((1..=100).contains(&ttl_s("alpha:{1}")), "{}", ttl_s("alpha:{1}"));
        assert_eq!((server.ask("mg beta s t"), server.ask("mg alpha:{1} s").as_str()), ("HD s30 t-1".into(), "HD s20"));
        // The trace has a stand-in for a key of twelve bytes.
        let ttl_s = ttl_s("----------0C");
        // Its clock may be a second behind.
        assert!((4_999_000..=5_000_001).contains(&ttl_s), "beyond thirty days memcached takes a date: {ttl_s}");
        assert_eq!((sent(&document, "keys"), sent(&document, "times to live")), ([3, 1, 0], [2, 0, 0]));
    }
}

#[test]
fn a_server_that_hangs_costs_its_requests_and_not_the_schedule() {
    const REQUESTS: u64 = 5_000;
    let scene = Scene::new();
    let line = |number: u64| format!("read,{},{}.5,100\n", number % 10, number);
    scene.write("trace.txt", &(0..REQUESTS).map(line).collect::<String>());
    let port = free_port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let words = "replay trace.txt --engine redis --threads 4 --give-up-after 300ms --format json";
    let running = scene.start(&format!("{words} --option address=127.0.0.1:{port}"));
    wait_for("requests to be answered", || server.answered().filter(|answered| *answered > 300));
    signal_process(server.pid(), Signal::STOP);
    MonotonicClock.sleep(1_500_000_000);
    signal_process(server.pid(), Signal::CONT);
    let document = running.end().status(0).json();
    let fidelity = &document["fidelity"];
    let number = |name: &str| fidelity[name].as_u64().unwrap();
    assert_eq!((&document["requests"], number("dropped")), (&json!(REQUESTS), 0), "all left: {document}");
    assert_eq!(fidelity["error_us"]["samples"], json!(REQUESTS));
    assert!(number("given_up") > 0 && number("given_up") == number("errors"), "{document}");
    assert_eq!(document["operations"]["read"].as_u64().unwrap() + number("errors"), REQUESTS, "{document}");
    assert!(document["in_flight_max"].as_u64().unwrap() > 100, "far more than connections: {document}");
    let failed = document["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "requests-failed");
    assert!(failed.unwrap()["text"].as_str().unwrap().contains("no answer within 300ms"), "{document}");
    assert_eq!(fidelity["verdict"], json!("not-faithful"));
}

#[test]
fn a_server_that_never_answers_again_does_not_hold_up_the_end() {
    let scene = Scene::new();
    let line = |number: u64| format!("read,{},{number},100\n", number % 10);
    scene.write("trace.txt", &(0..2_000).map(line).collect::<String>());
    let port = free_port();
    let Some(server) = Redis::start(&scene, port) else {
        skip(Cause::Program, "redis-server is not installed");
        return;
    };
    let words = "replay trace.txt --engine redis --give-up-after 200ms --require-fidelity --format json";
    let running = scene.start(&format!("{words} --option address=127.0.0.1:{port}"));
    wait_for("requests to be answered", || server.answered().filter(|answered| *answered > 300));
    drop(server);
    let document = running.end().status(3).json();
    assert_eq!((&document["requests"], &document["fidelity"]["dropped"]), (&json!(2_000), &json!(0)), "{document}");
    assert!(document["fidelity"]["errors"].as_u64().unwrap() > 0, "{document}");
}

#[test]
fn giving_up_is_refused_where_nothing_is_given_up() {
    let scene = Scene::new();
    scene.write("trace.txt", "read,a,1,10\n");
    let refused = [
        ("--engine null --give-up-after 1s", "only an open replay on redis or memcached"),
        ("--engine redis --model closed-conservative --give-up-after 1s", "only an open replay"),
        ("--engine redis --give-up-after 0s", "more than nothing"),
        ("--engine redis --give-up-after soon", "write `10s`"),
    ];
    for (words, wanted) in refused {
        scene.run(&format!("replay trace.txt {words}")).status(2).err_has(&[wanted]);
    }
}

#[test]
fn a_look_aside_cache_on_a_server_is_filled_in_an_open_loop() {
    let scene = Scene::new();
    scene.write("trace.txt", "read,a,1,30\nread,b,2,40\nread,a,1500,30\nread,b,1501,40\n");
    let Some((document, redis)) = replayed_on_redis(&scene, "replay trace.txt --on-miss put") else { return };
    assert_eq!((&document["operations"]["fill"], &document["missing"]["read"]), (&json!(2), &json!(2)), "{document}");
    assert_eq!((redis.ask("STRLEN a", 1), &document["fidelity"]["errors"]), (vec!["30".to_owned()], &json!(0)));
}
