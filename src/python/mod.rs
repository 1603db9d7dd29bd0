//! What Python would have written, and how Python compares.
//!
//! Rows and frames of a Heat cloud are read by Python engines too, and users see texts that Python formatted. This room
//! is the one place that knows those habits: JSON text, `repr()` and `str()`, float text, literals, `==` across
//! types, the `re` dialect and the quoting of URLs. It is pure and knows nothing of Heat.

pub mod arithmetic;
pub mod codec;
pub mod error;
pub mod hash;
pub mod json;
pub mod json_reader;
pub mod literal;
pub mod mask;
pub mod number;
pub mod numeral;
pub mod regex;
pub mod regex_search;
pub mod repr;
pub mod size;
pub mod text;
pub mod url;
pub mod value;

pub use error::PythonError;
pub use json::{dumps, dumps_map};
pub use repr::{repr, to_text};
