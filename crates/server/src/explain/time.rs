//! Instants and spans for people.

/// `12:03:07`, in UTC.
pub(super) fn time_of_day(at_ms: u64) -> String {
    let seconds = at_ms / 1_000 % 86_400;
    let (minutes, second) = (seconds / 60, seconds % 60);
    format!("{:02}:{:02}:{second:02}", minutes / 60, minutes % 60)
}

/// `12:03:07 UTC` if that is within a day of `now_ms`, else with the date before it.
pub(super) fn instant(at_ms: u64, now_ms: u64) -> String {
    const DAY: u64 = 86_400_000;
    let time = time_of_day(at_ms);
    if at_ms / DAY == now_ms / DAY {
        format!("{time} UTC")
    } else {
        format!("{} {time} UTC", date(at_ms / DAY))
    }
}

/// The date of a day since 1970-01-01 in the Gregorian calendar: years are counted from March, so
/// that a leap day is the last of its year, in eras of 400 years, which are all alike.
fn date(day: u64) -> String {
    const ERA: u64 = 146_097;
    let day = day + 719_468; // from 0000-03-01
    let (era, day) = (day / ERA, day % ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153; // 0 is March
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, january) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{of_month:02}", era * 400 + year + january)
}

/// A span that is not told shorter than it is: `250 ms`, `41 s`, `12 min`, `3 h 1 min`, `2 days`.
pub(super) fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    let (hours, rest) = (minutes / 60, minutes % 60);
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..=120_000 => format!("{seconds} s"),
        120_001..=7_200_000 => format!("{minutes} min"),
        7_200_001..=172_800_000 if rest == 0 => format!("{hours} h"),
        7_200_001..=172_800_000 => format!("{hours} h {rest} min"),
        _ => format!("{} days", minutes.div_ceil(1_440)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_those_of_the_calendar() {
        for (seconds, told) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_709_251_200, "2024-03-01 00:00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (1_796_057_987, "2026-11-30 16:59:47 UTC"),
        ] {
            assert_eq!(instant(seconds * 1_000, u64::MAX), told);
        }
        let noon = 1_796_040_000_000;
        assert_eq!(instant(noon + 187_999, noon), "12:03:07 UTC");
    }

    #[test]
    fn a_span_is_never_told_too_short() {
        for (ms, told) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_001, "2 s"),
            (41_000, "41 s"),
            (120_001, "3 min"),
            (7_200_000, "120 min"),
            (7_200_001, "2 h 1 min"),
            (10_800_000, "3 h"),
            (172_800_001, "3 days"),
        ] {
            assert_eq!(span(ms), told);
        }
    }
}
