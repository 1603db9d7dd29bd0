//! `yaql`: the shape of its arguments. Evaluating the expression takes the YAQL interpreter, which is a room of its own.

use crate::template::error::Fault;
use crate::template::expression::Expression;

pub(super) fn check(name: &str, arguments: &Expression) -> Result<(), Fault> {
    let Some(entries) = arguments.as_map() else {
        return Err(Fault::TypeError(format!("Arguments to \"{name}\" must be a map.")));
    };
    let only_known_keys = entries.keys().all(|key| key == "expression" || key == "data");
    if entries.contains_key("expression") && only_known_keys {
        return Ok(());
    }
    let example = format!(
        "{name}:\n              expression: $.data.var1.sum()\n              data:\n                var1: [3, 2, 1]"
    );
    Err(Fault::KeyError(format!("\"{name}\" syntax should be {example}").into()))
}
