use manometer_measure::{Clock as _, ManualClock, Span};

use super::*;

const MILLISECOND: u64 = 1_000_000;

fn opened() -> (Gate, u32) {
    let (gate, mut turn) = (Gate::default(), 0);
    gate.open();
    gate.pass(&mut turn);
    (gate, turn)
}

fn settings(rate: Option<&str>, think: Option<&str>) -> KvSettings {
    KvSettings {
        rate: rate.map(|rate| rate.parse().unwrap()),
        think: think.map(|think| think.parse().unwrap()),
        ..KvSettings::default()
    }
}

#[test]
fn a_closed_loop_never_waits() {
    let (clock, (gate, turn), arrivals) = (ManualClock::at(7), opened(), Arrivals::default());
    let mut pace = Pace::new(&PacePlan::Closed, &arrivals);
    assert_eq!(pace.next(&clock, &gate, turn), Some(DueTime::Now));
    pace.answered(&clock);
    assert_eq!((pace.next(&clock, &gate, turn), clock.now_ns()), (Some(DueTime::Now), 7));
}

#[test]
fn thinking_begins_with_the_answer() {
    let (clock, (gate, turn), arrivals) = (ManualClock::at(7), opened(), Arrivals::default());
    let mut pace = Pace::new(&PacePlan::Think(25 * MILLISECOND), &arrivals);
    assert_eq!((pace.next(&clock, &gate, turn), clock.now_ns()), (Some(DueTime::Now), 7));
    clock.advance(93);
    pace.answered(&clock);
    assert_eq!((pace.next(&clock, &gate, turn), clock.now_ns()), (Some(DueTime::Now), 100 + 25 * MILLISECOND));
}

#[test]
fn a_closing_gate_ends_a_sleep_and_the_arrival_is_not_lost() {
    let plan = PacePlan::new(&settings(Some("20"), None)).unwrap();
    let (clock, (gate, turn), arrivals) = (ManualClock::at(0), opened(), Arrivals::default());
    arrivals.change(&plan, 1, 0);
    arrivals.resume(0);
    let mut pace = Pace::new(&plan, &arrivals);
    assert_eq!(pace.next(&clock, &gate, turn), Some(DueTime::At(0)));
    gate.close();
    assert_eq!((pace.next(&clock, &gate, turn), clock.now_ns()), (None, 0));
    let (gate, turn) = opened();
    assert_eq!(pace.next(&clock, &gate, turn), Some(DueTime::At(50 * MILLISECOND)));
    assert_eq!(clock.now_ns(), 50 * MILLISECOND, "it sent on time");
    clock.advance(500 * MILLISECOND);
    assert_eq!(pace.next(&clock, &gate, turn), Some(DueTime::At(100 * MILLISECOND)), "it is late and says since when");
}

#[test]
fn settings_become_a_pace_or_say_why_not() {
    assert_eq!(PacePlan::new(&settings(None, None)).unwrap(), PacePlan::Closed);
    assert_eq!(PacePlan::new(&settings(None, Some("2ms"))).unwrap(), PacePlan::Think(2 * MILLISECOND));
    let open = PacePlan::new(&settings(Some("5000"), None)).unwrap();
    let wanted = OpenLoop { curve: RateCurve::constant(5000.0), arrivals: ArrivalKind::Constant, queue: QUEUE_USUAL };
    assert_eq!(open, PacePlan::Open(wanted));
    let with_queue = |queue| KvSettings { queue: Some(queue), ..settings(Some("5"), None) };
    for (settings, name) in [
        (settings(Some("5"), Some("1s")), "think"),
        (settings(Some("0"), None), "rate"),
        (settings(Some("6000000"), None), "rate"),
        (with_queue(0), "queue"),
    ] {
        assert_eq!(PacePlan::new(&settings).unwrap_err().setting(), name);
    }
    assert_eq!(settings(None, Some("1s")).think, Some(Span(std::time::Duration::from_secs(1))));
}
