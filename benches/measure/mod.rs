//! What benches share that compare programs: texts, CPU time, and turns.
//!
//! The machine is shared, so that a time says little and a ratio of times much, if both were taken side by side: the programs
//! that are compared take turns, and the median of the rounds' ratios is output.
#![allow(dead_code, reason = "each bench uses what it needs")]

pub(crate) mod numbers;
pub(crate) mod texts;
pub(crate) mod turns;
