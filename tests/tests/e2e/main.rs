//! The program from outside: real processes, real signals, real files, and scripted model servers.

mod budgets;
mod control;
mod crash;
mod crowd;
mod delegation;
mod locked;
mod plans;
mod pool;
mod readme;
mod refusals;
mod report;
mod rolling;
mod secrets;
mod server;
mod team;
mod texts;
mod views;
