//! The only code with SQL: a file a table, typed compare-and-swap outcomes.
