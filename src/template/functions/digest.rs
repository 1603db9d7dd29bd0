//! `digest`: hexadecimal digests of text.

use md5::Md5;
use serde_json::Value;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::python::codec::check_encodable;
use crate::template::error::{Fault, ResolveError};
use crate::template::expression::{Expression, Resolver};

const ALGORITHMS: [&str; 6] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

pub(super) fn resolve(name: &str, arguments: &Expression, resolver: &Resolver<'_>) -> Result<Value, ResolveError> {
    let arguments = super::resolved_list(arguments, resolver)?;
    let texts: Option<Vec<&str>> = arguments
        .as_ref()
        .ok()
        .and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(texts) = texts else {
        return Err(Fault::TypeError(format!("Argument to function \"{name}\" must be a list of strings")).into());
    };
    let [algorithm, text] = texts.as_slice() else {
        return Err(Fault::ValueError(format!("Function \"{name}\" usage: [\"<algorithm>\", \"<value>\"]")).into());
    };
    let bytes = latin1;
    let digest = match algorithm.to_lowercase().as_str() {
        "md5" => hexadecimal(&Md5::digest(bytes(text)?)),
        "sha1" => hexadecimal(&Sha1::digest(bytes(text)?)),
        "sha224" => hexadecimal(&Sha224::digest(bytes(text)?)),
        "sha256" => hexadecimal(&Sha256::digest(bytes(text)?)),
        "sha384" => hexadecimal(&Sha384::digest(bytes(text)?)),
        "sha512" => hexadecimal(&Sha512::digest(bytes(text)?)),
        _ => {
            let known: Vec<String> = ALGORITHMS.iter().map(|algorithm| format!("'{algorithm}'")).collect();
            return Err(Fault::ValueError(format!("Algorithm must be one of {{{}}}", known.join(", "))).into());
        }
    };
    Ok(Value::String(digest))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Python encodes the text as Latin-1 and refuses what does not fit.
fn latin1(text: &str) -> Result<Vec<u8>, Fault> {
    check_encodable(text, "latin-1", 0x100).map_err(|error| Fault::ValueError(error.to_string()))?;
    Ok(text.chars().map(|character| character as u8).collect())
}
