use super::*;

const SECOND: u64 = 1_000_000_000;

fn open(rate: f64, arrivals: ArrivalKind, queue: u32) -> PacePlan {
    PacePlan::Open(OpenLoop { curve: RateCurve::constant(rate), arrivals, queue })
}

/// Arrivals that run from `now_ns` on.
fn running(plan: &PacePlan, now_ns: u64) -> Arrivals {
    let arrivals = Arrivals::default();
    arrivals.change(plan, 1, now_ns);
    arrivals.resume(now_ns);
    arrivals
}

fn take(arrivals: &Arrivals, now_ns: u64) -> u64 {
    arrivals.take(now_ns).unwrap().due_ns
}

#[test]
fn constant_arrivals_lie_exactly_on_their_grid() {
    let mut process = ArrivalProcess::new(RateCurve::constant(3.0), ArrivalKind::Constant, 0.0, 1);
    for number in 0..3_000_000_u64 {
        assert_eq!(process.next_ns(), (number as f64 / 3.0 * 1e9).round() as u64);
    }
}

#[test]
fn clients_of_one_rate_send_at_equal_distances_together() {
    let sent_by = |part: u32| {
        let arrivals = Arrivals::starting_at(f64::from(part) / 4.0);
        arrivals.change(&open(5.0, ArrivalKind::Constant, 100), 1, 0);
        arrivals.resume(0);
        (0..10).map(move |_| take(&arrivals, 0)).collect::<Vec<_>>()
    };
    let mut all: Vec<u64> = (0..4).flat_map(sent_by).collect();
    all.sort_unstable();
    assert_eq!(all, (0..40).map(|number| number * SECOND / 20).collect::<Vec<_>>());
}

#[test]
fn poisson_gaps_are_exponential_and_their_counts_vary_as_much_as_they_are() {
    const RATE: f64 = 1000.0;
    const COUNT: usize = 200_000;
    let mut process = ArrivalProcess::new(RateCurve::constant(RATE), ArrivalKind::Poisson, 0.0, 1);
    let times: Vec<u64> = (0..COUNT).map(|_| process.next_ns()).collect();
    let mean_s = times[COUNT - 1] as f64 / 1e9 / COUNT as f64;
    // Five standard errors of the mean of exponential gaps.
    assert!((mean_s * RATE - 1.0).abs() < 5.0 / (COUNT as f64).sqrt(), "{mean_s}");
    let longer = times.windows(2).filter(|pair| pair[1] - pair[0] > SECOND / 1000).count();
    let share = longer as f64 / (COUNT - 1) as f64;
    assert!((share - (-1.0_f64).exp()).abs() < 0.006, "{share}");
    let seconds = times[COUNT - 1] / SECOND;
    let counts: Vec<f64> =
        (0..seconds).map(|second| times.iter().filter(|t_ns| **t_ns / SECOND == second).count() as f64).collect();
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64;
    assert!((0.6..1.6).contains(&(variance / mean)), "dispersion {}", variance / mean);
}

#[test]
fn poisson_follows_a_curve() {
    let curve = RateCurve::steps(&[(0.0, 100.0), (100.0, 300.0)]);
    let mut process = ArrivalProcess::new(curve, ArrivalKind::Poisson, 0.0, 7);
    let times: Vec<u64> =
        std::iter::from_fn(|| Some(process.next_ns())).take_while(|t_ns| *t_ns < 200 * SECOND).collect();
    let early = times.iter().filter(|t_ns| **t_ns < 100 * SECOND).count() as f64;
    let late = times.len() as f64 - early;
    // Five standard deviations.
    assert!((early - 10_000.0).abs() < 500.0 && (late - 30_000.0).abs() < 900.0, "{early} and {late}");
}

#[test]
fn a_late_reader_gets_queued_arrivals_in_order_and_an_early_one_the_next() {
    let arrivals = running(&open(10.0, ArrivalKind::Constant, 100), 5 * SECOND);
    let now_ns = 5 * SECOND + SECOND / 4;
    let due: Vec<u64> = (0..5).map(|_| take(&arrivals, now_ns) - 5 * SECOND).collect();
    assert_eq!(due, [0, 1, 2, 3, 4].map(|tenth| tenth * SECOND / 10));
}

#[test]
fn what_finds_no_place_is_dropped_and_nothing_else() {
    let arrivals = running(&open(10.0, ArrivalKind::Constant, 4), 0);
    assert_eq!(take(&arrivals, 0), 0);
    // Of those at 0.1, 0.2 … 1.0 seconds, four find a place.
    assert_eq!(arrivals.dropped_by(SECOND), 6);
    let waiting: Vec<u64> = (0..4).map(|_| take(&arrivals, SECOND)).collect();
    assert_eq!(waiting, [1, 2, 3, 4].map(|tenth| tenth * SECOND / 10));
    assert_eq!(take(&arrivals, SECOND), 11 * SECOND / 10);
    assert_eq!(arrivals.dropped_by(SECOND), 6);
}

#[test]
fn looking_seldom_drops_what_looking_often_drops() {
    let plan = open(997.0, ArrivalKind::Poisson, 3);
    let (often, seldom) = (running(&plan, 0), running(&plan, 0));
    let mut taken = [Vec::new(), Vec::new()];
    for step in 0..2000_u64 {
        let now_ns = step * 1_000_000;
        often.dropped_by(now_ns);
        if step % 20 == 19 {
            taken[0].push(often.take(now_ns).unwrap());
            taken[1].push(seldom.take(now_ns).unwrap());
        }
    }
    assert_eq!(taken[0], taken[1]);
    assert!(often.dropped_by(2 * SECOND) > 0);
    assert_eq!(often.dropped_by(2 * SECOND), seldom.dropped_by(2 * SECOND));
}

#[test]
fn a_pause_stops_time_for_those_who_wait_too() {
    let arrivals = running(&open(10.0, ArrivalKind::Constant, 100), 0);
    take(&arrivals, 0);
    let early = arrivals.take(SECOND / 20).unwrap();
    arrivals.put_back(early);
    arrivals.pause(SECOND / 4);
    assert_eq!(arrivals.take(SECOND), None);
    assert_eq!(arrivals.dropped_by(60 * SECOND), 0, "nothing arrives in a pause");
    arrivals.resume(60 * SECOND);
    let began_ns = 60 * SECOND - SECOND / 4;
    let due: Vec<u64> = (0..3).map(|_| take(&arrivals, 60 * SECOND) - began_ns).collect();
    assert_eq!(due, [1, 2, 3].map(|tenth| tenth * SECOND / 10));
}

#[test]
fn a_new_rate_begins_at_once_and_keeps_what_waits() {
    let arrivals = running(&open(10.0, ArrivalKind::Constant, 100), 0);
    take(&arrivals, 0);
    let stale = arrivals.take(0).unwrap();
    let now_ns = SECOND / 4;
    arrivals.change(&open(1000.0, ArrivalKind::Constant, 100), 1, now_ns);
    arrivals.put_back(stale);
    let due: Vec<u64> = (0..3).map(|_| take(&arrivals, now_ns)).collect();
    assert_eq!(due, [SECOND / 5, now_ns, now_ns + 1_000_000], "one of before, then those of the new rate");
    arrivals.change(&PacePlan::Closed, 1, now_ns + 10_000_000);
    assert_eq!(arrivals.dropped_by(now_ns + 10_000_000), 9, "waiting requests of an open loop are dropped");
    assert_eq!(arrivals.take(SECOND), None);
}

#[test]
fn a_rate_that_ends_leaves_nothing_to_take() {
    let curve = RateCurve::steps(&[(0.0, 2.0), (1.0, 0.0)]);
    let arrivals = running(&PacePlan::Open(OpenLoop { curve, arrivals: ArrivalKind::Constant, queue: 9 }), 0);
    assert_eq!([take(&arrivals, 0), take(&arrivals, 0)], [0, SECOND / 2]);
    assert_eq!(arrivals.take(0), None);
    assert_eq!(arrivals.dropped_by(u64::MAX - 1), 0);
}

#[test]
fn a_longer_queue_alone_does_not_begin_the_curve_anew() {
    let arrivals = running(&open(10.0, ArrivalKind::Constant, 1), 0);
    take(&arrivals, 0);
    arrivals.change(&open(10.0, ArrivalKind::Constant, 3), 1, SECOND / 20);
    assert_eq!(arrivals.dropped_by(SECOND), 7);
    assert_eq!(take(&arrivals, SECOND), SECOND / 10);
}
