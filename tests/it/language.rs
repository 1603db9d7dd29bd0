//! What is told of the language's versions and functions, against the oracle.

use heat_engine::python::json::dumps;
use heat_engine::rpc::language::{functions, versions};

use crate::lab::Lab;

#[test]
fn versions_and_functions_are_told_of_as_the_oracle_tells_of_them() {
    let expected = Lab::get().python_json(include_str!("language/oracle.py"), &[]);
    assert_eq!(dumps(&versions()), dumps(&expected["versions"]));
    for (part, with_conditions) in [("without", false), ("with", true)] {
        let expected = expected[part].as_object().expect("versions by name");
        assert_eq!(expected.len(), 19);
        for (name, functions_there) in expected {
            let functions_here = functions(name, with_conditions).expect("a known version");
            assert_eq!(dumps(&functions_here), dumps(functions_there), "{name} {part}");
        }
    }
}
