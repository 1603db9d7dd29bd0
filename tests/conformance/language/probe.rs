//! Our side of the differential runner (`main.py` starts it): reads probes with Heat's outcomes from stdin, prints what
//! is different for each to stdout, both as JSON lists.

mod comparison;
mod outcome;

use std::io::{Read as _, Write as _};

use heat_engine::python::dumps;
use heat_engine::python::json_reader::loads;
use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let answered = loads(&text).map_err(std::io::Error::other)?;
    let agreements = comparison::agreements();
    let judge = |answer: &Value| {
        let name = answer["probe"]["name"].as_str().unwrap_or_default();
        let ours = outcome::outcome(&answer["probe"]);
        let differences = comparison::differences(&answer["outcome"], &ours);
        let agreed = agreements.iter().find(|agreement| agreement.covers(name, &differences));
        json!({
            "name": name,
            "differences": differences,
            "agreed": agreed.map(|agreement| agreement.reason.as_str()),
            "both_refuse": answer["outcome"]["error"].is_array() && ours["error"].is_array(),
        })
    };
    let judged: Value = answered.as_array().into_iter().flatten().map(judge).collect();
    std::io::stdout().write_all(dumps(&judged).as_bytes())
}
