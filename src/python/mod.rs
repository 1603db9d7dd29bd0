//! What Python would have written, and how Python compares.
//!
//! Rows and frames of a Heat cloud are read by Python engines too, and users see texts that Python formatted. This room
//! is the one place that knows those habits: JSON text, `repr()` and `str()`, float text, literals, `==` across
//! types, the `re` dialect and the quoting of URLs. It is pure and knows nothing of Heat.

pub mod codec;
pub mod json;
pub mod json_reader;
pub mod literal;
pub mod number;
pub mod regex;
pub mod repr;
pub mod url;
pub mod value;

pub use json::dumps;
pub use repr::{repr, to_text};
