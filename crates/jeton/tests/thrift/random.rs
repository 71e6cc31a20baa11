//! Random rules.

use jeton_testkit::model::ModelQuota;
use jeton_testkit::random::Random;

use crate::far::MS;

/// A rule with its text and its model.
pub(crate) struct Rule {
    pub(crate) text: String,
    pub(crate) model: ModelQuota,
    pub(crate) limit: u64,
    /// The window, or the time in which a bucket fills.
    pub(crate) window_us: u64,
}

/// One whose limit is from `least` to `most`, and whose window is from `least_ms` to `most_ms`.
pub(crate) fn rule(
    random: &mut Random,
    (least, most): (u64, u64),
    (least_ms, most_ms): (u64, u64),
) -> Rule {
    let limit = random.scaled(least, most);
    let length_ms = random.between(least_ms, most_ms);
    let window_us = length_ms * MS;
    let counted = |algorithm: &str, more: &str| {
        format!("algorithm = \"{algorithm}\"\nlimit = {limit}\nwindow = \"{length_ms}ms\"\n{more}")
    };
    let (words, model) = match random.below(5) {
        0 => {
            let units = random.between(1, limit);
            let bucket = format!(
                "algorithm = \"token-bucket\"\nrate = \"{units}/{length_ms}ms\"\nburst = {limit}\n"
            );
            let model = ModelQuota::Bucket {
                units,
                per_us: window_us,
                burst: limit,
            };
            (bucket, model)
        }
        1 => {
            let model = ModelQuota::SlidingLog { limit, window_us };
            (counted("sliding-log", ""), model)
        }
        2 => {
            let model = ModelQuota::SlidingCounter { limit, window_us };
            (counted("sliding-counter", ""), model)
        }
        anchor => {
            let epoch = anchor == 3;
            let word = if epoch { "epoch" } else { "first-request" };
            let model = ModelQuota::FixedWindow {
                limit,
                window_us,
                epoch,
            };
            let more = format!("anchor = \"{word}\"\n");
            (counted("fixed-window", &more), model)
        }
    };
    Rule {
        text: format!("[[rule]]\nname = \"api\"\nkey = \"header:x-user\"\n{words}"),
        model,
        limit,
        window_us,
    }
}
