//! A source of events that listens to the answers, so that it can come back exactly at the stated
//! wait, ask for exactly what remains, and settle what it was really charged.

use super::quotas::{Family, LAST_INSTANT_US, draw};
use super::{Ask, Event};
use crate::model::{Answer, ModelQuota};
use crate::random::Random;

const SECOND: u64 = 1_000_000;
const YEAR: u64 = 365 * 86_400 * SECOND;
/// Receipts kept for later settles: enough for late ones, few enough that most get settled.
const RECEIPTS: usize = 24;

/// How the clock moves for the next few events.
#[derive(Clone, Copy, Debug)]
enum Mood {
    /// Many at one instant or nearly so.
    Burst,
    /// One every so many microseconds.
    Steady(u64),
    /// At the edges: stated waits and resets, window ends, one before and one after.
    Edges,
    /// Pauses of seconds to years.
    Idle,
    /// The clock steps, mostly backwards, by a little, by windows, by years.
    Clock,
}

/// Deterministic traffic for one family.
#[derive(Clone, Debug)]
pub struct Traffic {
    random: Random,
    quotas: Vec<ModelQuota>,
    quota: ModelQuota,
    now_us: u64,
    mood: Mood,
    number: usize,
    last: Option<(Ask, Answer)>,
    receipts: Vec<(usize, u64)>,
    /// A denied cost that is asked for again one microsecond from now, at the stated wait.
    again: Option<u64>,
}

impl Traffic {
    /// The traffic of `family` that follows from `seed`.
    pub fn new(family: Family, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let quotas = draw(family, &mut random);
        let quota = quotas[0];
        let now_us = match random.below(6) {
            0 => random.between(1, 100),
            1 => LAST_INSTANT_US - random.scaled(1, YEAR),
            2 => random.between(1, LAST_INSTANT_US / quota.memory_us()) * quota.memory_us(),
            _ => random.between(50 * YEAR, 58 * YEAR),
        };
        Self {
            random,
            quotas,
            quota,
            now_us: now_us.clamp(1, LAST_INSTANT_US),
            mood: Mood::Burst,
            number: 0,
            last: None,
            receipts: Vec::new(),
            again: None,
        }
    }

    /// The next event.
    pub fn next_event(&mut self) -> Event {
        if self.random.once_in(8) {
            self.mood = self.draw_mood();
        }
        let ask = if let Some(cost) = self.again.take() {
            self.now_us += 1;
            self.charge(cost)
        } else if let Some(cost) = self.early_return() {
            self.charge(cost)
        } else {
            if self.random.once_in(30) {
                self.quota = *self.random.pick(&self.quotas);
            }
            self.move_clock();
            self.draw_ask()
        };
        let number = self.number;
        self.number += 1;
        self.last = None;
        Event {
            number,
            now_us: self.now_us,
            quota: self.quota,
            ask,
        }
    }

    /// Tells the traffic what its last event was answered.
    pub fn hear(&mut self, event: &Event, answer: &Answer) {
        if let Some(receipt) = answer.receipt {
            if self.receipts.len() == RECEIPTS {
                self.receipts.remove(self.random.index(RECEIPTS));
            }
            self.receipts.push((event.number, receipt.cost));
        }
        self.last = Some((event.ask, *answer));
    }

    fn draw_mood(&mut self) -> Mood {
        match self.random.below(12) {
            0..=2 => Mood::Burst,
            3..=4 => {
                let share = (self.quota.memory_us() / self.quota.limit()).max(1);
                Mood::Steady(self.random.scaled(share / 2 + 1, share * 2 + 1))
            }
            5..=8 => Mood::Edges,
            9 => Mood::Idle,
            _ => Mood::Clock,
        }
    }

    /// After a denial: sometimes one microsecond before the stated wait, and then exactly at it.
    fn early_return(&mut self) -> Option<u64> {
        let (ask, answer) = self.last?;
        let (Ask::Take { cost } | Ask::Hold { cost }, Some(retry_us)) = (ask, answer.retry_us())
        else {
            return None;
        };
        let at_us = self.now_us + retry_us - 1;
        if at_us >= LAST_INSTANT_US || !self.random.once_in(2) {
            return None;
        }
        self.now_us = at_us;
        self.again = Some(cost);
        Some(cost)
    }

    fn move_clock(&mut self) {
        let memory_us = self.quota.memory_us();
        match self.mood {
            Mood::Burst if self.random.below(5) > 0 => {}
            Mood::Burst => self.forward(1, 1000),
            Mood::Steady(gap_us) => self.forward(gap_us, gap_us),
            Mood::Edges => self.step_to_an_edge(),
            Mood::Idle => self.forward(SECOND, 3 * YEAR),
            Mood::Clock => {
                match self.random.below(6) {
                    0 => self.back(1, 1000),
                    1 => self.back(1, memory_us),
                    2 => self.back(memory_us, 3 * memory_us),
                    3 => self.back(SECOND, 10 * YEAR),
                    4 => self.forward(1, YEAR),
                    _ => self.back(memory_us, memory_us),
                }
                self.mood = Mood::Burst;
            }
        }
    }

    fn forward(&mut self, least_us: u64, most_us: u64) {
        let step_us = self.random.scaled(least_us, most_us);
        if self.now_us + step_us > LAST_INSTANT_US {
            self.back(YEAR, 60 * YEAR);
        } else {
            self.now_us += step_us;
        }
    }

    fn back(&mut self, least_us: u64, most_us: u64) {
        let step_us = self.random.scaled(least_us, most_us);
        self.now_us = self.now_us.saturating_sub(step_us).max(1);
    }

    fn step_to_an_edge(&mut self) {
        let told = self.last.map(|(_, answer)| answer);
        let us = |field: fn(&Answer) -> u64| told.as_ref().map_or(0, field);
        let window_us = match self.quota {
            ModelQuota::Bucket { per_us, .. } => per_us,
            ModelQuota::FixedWindow { window_us, .. }
            | ModelQuota::SlidingCounter { window_us, .. }
            | ModelQuota::SlidingLog { window_us, .. } => window_us,
            ModelQuota::Concurrency { lease_us, .. } => lease_us,
            ModelQuota::Ticket { ttl_us } => ttl_us,
        };
        let ahead_us = match self.random.below(5) {
            0 => us(|answer| answer.retry_us().unwrap_or(0)),
            1 => us(|answer| answer.reset_us),
            2 => us(|answer| answer.next_us),
            3 => window_us,
            _ => window_us - self.now_us % window_us,
        };
        let at_us = self.now_us + ahead_us + self.random.below(3);
        self.now_us = (at_us - 1).clamp(1, LAST_INSTANT_US);
    }

    fn charge(&self, cost: u64) -> Ask {
        if self.quota.is_held() {
            Ask::Hold { cost }
        } else {
            Ask::Take { cost }
        }
    }

    fn draw_ask(&mut self) -> Ask {
        if self.quota.is_held() {
            return self.draw_ask_of_holders();
        }
        match self.random.below(100) {
            0..68 => Ask::Take {
                cost: self.draw_cost(),
            },
            68..70 => self.draw_renewal(),
            70..77 => Ask::Peek {
                cost: self.draw_cost(),
            },
            77..87 => Ask::Hold {
                cost: self.draw_cost(),
            },
            87..91 => Ask::Give {
                units: self.draw_cost(),
            },
            91..99 => self.draw_settle(),
            _ => Ask::Reset,
        }
    }

    fn draw_ask_of_holders(&mut self) -> Ask {
        match self.random.below(100) {
            0..45 => Ask::Hold {
                cost: self.draw_cost(),
            },
            45..48 => Ask::Take {
                cost: self.draw_cost(),
            },
            48..56 => Ask::Peek {
                cost: self.draw_cost(),
            },
            56..76 => self.draw_settle(),
            76..96 => self.draw_renewal(),
            96..98 => Ask::Give {
                units: self.draw_cost(),
            },
            _ => Ask::Reset,
        }
    }

    fn draw_renewal(&mut self) -> Ask {
        if self.receipts.is_empty() {
            return Ask::Peek { cost: 1 };
        }
        let (of, _) = *self.random.pick(&self.receipts);
        Ask::Renew { of }
    }

    fn draw_cost(&mut self) -> u64 {
        let limit = self.quota.limit();
        let remaining = self.last.map_or(limit, |(_, answer)| answer.remaining);
        match self.random.below(20) {
            0 => 0,
            1 => limit,
            2 => limit + 1,
            3 => self.random.scaled(limit, limit.max(1 << 31)),
            4..=6 => remaining,
            7 => remaining + 1,
            8 => limit.div_ceil(2),
            9..=11 => self.random.scaled(1, limit),
            12 => self.random.between(2, 9),
            _ => 1,
        }
    }

    fn draw_settle(&mut self) -> Ask {
        if self.receipts.is_empty() {
            return Ask::Peek { cost: 1 };
        }
        let chosen = self.random.index(self.receipts.len());
        // A holder may be settled more than once, and so may a ticket be asked to.
        let again = self.quota.is_held() && self.random.once_in(2);
        let (of, cost) = if again {
            self.receipts[chosen]
        } else {
            self.receipts.swap_remove(chosen)
        };
        let limit = self.quota.limit();
        let actual = match self.random.below(8) {
            0 => cost,
            1 => cost + 1,
            2 => cost.saturating_sub(1),
            3 => cost + limit,
            4 => cost + self.random.scaled(1, 2 * limit),
            5 => self.random.between(0, cost),
            _ => 0,
        };
        let max_debt = match self.random.below(6) {
            0 => 0,
            1 => self.random.between(1, limit),
            2 => self.random.scaled(1, 2 * limit),
            _ => u64::MAX,
        };
        Ask::Settle {
            of,
            actual,
            max_debt,
        }
    }
}
