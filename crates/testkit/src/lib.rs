//! Slow exact models, trace generators and store laws for testing Jeton.
