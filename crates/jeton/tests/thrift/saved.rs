//! How many calls are spared: figures, to be read with `--nocapture`.

use jeton_testkit::random::Random;

use crate::far::{World, is_full, take};

/// Keys 0 to 999, key k with a weight of 1/(k+1).
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: u32) -> Self {
        let mut sum = 0.0;
        let weights = (1..=keys).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self(weights.collect())
    }

    #[allow(clippy::cast_precision_loss)]
    fn key(&self, random: &mut Random) -> usize {
        let at = random.below(1 << 40) as f64 / (1_u64 << 40) as f64 * self.0.last().unwrap();
        self.0.partition_point(|sum| *sum <= at)
    }
}

const RULES: &str = r#"
[[rule]]
name = "api"
key = "header:x-user"
algorithm = "token-bucket"
rate = "1000000/s"
burst = 1000000
"#;

#[test]
fn with_twenty_ahead_and_a_thousand_keys_few_takes_call_the_store() {
    let keys: Vec<String> = (0..1_000).map(|key| format!("k{key}")).collect();
    let zipf = Zipf::new(1_000);
    let takes = if is_full() { 2_000_000 } else { 200_000 };
    for (per_second, ratio) in [(10_000, 5), (50_000, 9), (200_000, 9)] {
        let world = World::new(1, "lease = 20", RULES);
        let node = &world.nodes[0];
        let mut random = Random::new(1);
        for _ in 0..takes {
            world.pass(1_000_000 / per_second);
            take(&node.gate, "api", &keys[zipf.key(&mut random)], 1);
        }
        let (calls, plans) = (node.far.calls(), node.far.plans());
        println!("{per_second} takes a second: {takes} takes, {calls} calls, {plans} plans");
        assert!(
            calls * ratio < takes,
            "{calls} calls at {per_second} a second"
        );
    }
}
