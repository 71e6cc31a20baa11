//! How far it is, on standard error: standard output holds the tables alone.

use std::io::{IsTerminal, Write, stderr};

pub struct Progress {
    done: usize,
    all: usize,
}

impl Progress {
    pub fn new(all: usize) -> Self {
        Self { done: 0, all }
    }

    /// Another step begins.
    pub fn step(&mut self, what: &str) {
        const WIDTH: usize = 30;
        let filled = (self.done * WIDTH / self.all.max(1)).min(WIDTH);
        let percent = (self.done * 100 / self.all.max(1)).min(100);
        self.done += 1;
        if stderr().is_terminal() {
            let bar = "#".repeat(filled) + &".".repeat(WIDTH - filled);
            eprint!("\r[{bar}] {percent:3} % {what:<50}");
            let _ = stderr().flush();
        } else {
            eprintln!("{percent:3} % {what}");
        }
    }

    pub fn end(self) {
        if stderr().is_terminal() {
            eprint!("\r{:<90}\r", "");
        }
    }
}
