//! Exact rate-limit decisions as pure functions: time, quotas, algorithms, plans, the store seam.
