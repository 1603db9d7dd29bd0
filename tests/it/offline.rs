//! `template …` as an author of templates meets it: for each file of `offline/` what is told of it stands beside it.
//!
//! `UPDATE_EXPECTED=1 cargo test --test it offline` writes down what is told now.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/offline")
}

/// What the program prints and how it ends.
fn template(arguments: &[&str]) -> (String, i32) {
    template_with_input(arguments, "")
}

/// The same with something to read on its standard input.
fn template_with_input(arguments: &[&str], input: &str) -> (String, i32) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_heat-engine-rs"))
        .arg("template")
        .args(arguments)
        .current_dir(directory())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = program.stdin.take().expect("it has an input");
    // Who does not want to read does not.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = program.wait_with_output().expect("it ends");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("it prints UTF-8");
    (text, output.status.code().expect("it ends by itself"))
}

fn compare(name: &str, told: &str) -> Result<(), String> {
    let path = directory().join(format!("{name}.expected"));
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&path, told).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if told == expected {
        Ok(())
    } else {
        Err(format!("{name}\n--- expected\n{expected}--- told\n{told}"))
    }
}

fn wrong_templates() -> Vec<String> {
    let files = std::fs::read_dir(directory()).expect("the directory is there");
    let names = files.map(|file| {
        file.expect("it can be read")
            .file_name()
            .into_string()
            .expect("a UTF-8 name")
    });
    let mut names: Vec<String> = names
        .filter(|name| [".yaml", ".template"].iter().any(|suffix| name.ends_with(suffix)))
        .collect();
    names.sort();
    names
}

#[test]
fn every_wrong_template_is_told_what_is_wrong_and_where() {
    let mut failures = Vec::new();
    let names = wrong_templates();
    for name in &names {
        let environment = Path::new(name).with_extension("env").display().to_string();
        let mut arguments = vec!["validate", name.as_str()];
        if directory().join(&environment).exists() {
            arguments.extend(["-e", environment.as_str()]);
        }
        let (told, code) = template(&arguments);
        // What is only odd is told, too.
        let is_sound = name.starts_with("sound") || name == "function.yaml";
        assert_eq!(code, i32::from(!is_sound), "{name}: {told}");
        failures.extend(compare(name, &told).err());
    }
    assert!(names.len() >= 20);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_sound_template_is_resolved_as_far_as_that_goes() {
    let (told, code) = template(&["resolve", "sound.yaml", "-P", "name=web"]);
    assert_eq!(code, 0, "{told}");
    compare("sound.resolved", &told).unwrap();
    let (told, code) = template(&[
        "resolve",
        "sound.yaml",
        "-P",
        "name=web",
        "--resource",
        "group",
        "--format",
        "json",
    ]);
    assert_eq!(code, 0, "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["resources"]["group"]["properties"]["count"], 2);
    assert!(told["resources"].get("server").is_none());
}

/// Only the cloud knows them, so the calls that ask for them stand where their values would.
#[test]
fn availability_zones_are_left_to_the_cloud() {
    let (told, code) = template(&["resolve", "sound-zones.template"]);
    assert_eq!(code, 0, "{told}");
    compare("sound-zones.resolved", &told).unwrap();
}

#[test]
fn warnings_are_errors_for_who_is_strict() {
    assert_eq!(template(&["validate", "function.yaml"]).1, 0);
    assert_eq!(template(&["validate", "--strict", "function.yaml"]).1, 1);
}

#[test]
fn results_are_there_as_json_too() {
    let (told, code) = template(&["validate", "--format", "json", "property.yaml"]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((code, &told["valid"]), (1, &false.into()));
    let problem = &told["problems"][0];
    assert_eq!(problem["line"], 6);
    assert_eq!(problem["help"], "is \"flavor\" meant?");

    let (told, code) = template(&[
        "validate",
        "--format",
        "json",
        "--show-nested",
        "sound.yaml",
        "-P",
        "name=x",
    ]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!((code, &told["valid"]), (0, &true.into()), "{told}");
    assert_eq!(told["template"]["Parameters"]["name"]["Type"], "String");
    assert_eq!(
        told["template"]["NestedParameters"]["inner"]["Parameters"]["count"]["Default"],
        1
    );
}

/// `nested.json` is what Heat 27.0.1 answers, without the directories of files.
#[test]
fn nested_parameters_have_the_values_that_resources_give_them() {
    compare_nested("tree/outer.yaml", "tree/env.yaml", "tree/nested.json");
}

#[test]
fn groups_show_the_parameters_of_one_member() {
    compare_nested("tree/groups.yaml", "tree/leaves.yaml", "tree/groups.json");
}

/// Compares what is shown of nested templates with what Heat answered.
fn compare_nested(file: &str, environment: &str, answer: &str) {
    let (told, code) = template(&["validate", "--format", "json", "--show-nested", "-e", environment, file]);
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(code, 0, "{told}");
    let expected = std::fs::read(directory().join(answer)).expect("the answer is there");
    let expected: serde_json::Value = serde_json::from_slice(&expected).expect("JSON");
    assert_eq!(told["template"]["NestedParameters"], expected);
}

#[test]
fn what_cannot_be_looked_at_is_another_kind_of_failure() {
    let (told, code) = template(&["validate", "not-there.yaml"]);
    assert_eq!(code, 2);
    assert!(told.starts_with("heat-engine-rs: cannot read not-there.yaml"), "{told}");
    let (told, code) = template(&["validate", "section.yaml", "-P", "x"]);
    assert_eq!(code, 2);
    assert!(told.contains("a parameter is given as NAME=VALUE"), "{told}");
}

#[test]
fn a_failure_is_there_as_json_too() {
    for arguments in [
        &["validate", "not-there.yaml"][..],
        &["resolve", "not-there.yaml"],
        &["functions", "2014-10-17"],
    ] {
        let (told, code) = template(&[arguments, &["--format", "json"]].concat());
        let told: serde_json::Value =
            serde_json::from_str(told.lines().next().unwrap_or_default()).expect("JSON before what people read");
        assert_eq!(code, 2, "{told}");
        let error = told["error"].as_str().unwrap_or_default();
        assert!(
            error.starts_with("cannot read not-there.yaml: ") || error.contains("there is no version 2014-10-17"),
            "{told}"
        );
    }
}

#[test]
fn a_resource_that_is_not_there_cannot_be_shown() {
    let (told, code) = template(&["resolve", "sound.yaml", "-P", "name=web", "--resource", "gruop"]);
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("the template has no resource \"gruop\": is \"group\" meant?"),
        "{told}"
    );
}

#[test]
fn a_resource_is_asked_for_where_there_are_none() {
    let nothing = "heat_template_version: 2018-08-31\n";
    let (told, code) = template_with_input(&["resolve", "-", "--resource", "nope"], nothing);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("the template has no resource \"nope\""), "{told}");
}

#[test]
fn a_resource_that_is_switched_off_is_shown_as_such() {
    let arguments = [
        "resolve",
        "sound.yaml",
        "-P",
        "name=web",
        "-P",
        "count=1",
        "--resource",
        "group",
    ];
    let (told, code) = template(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(code, 0, "{told}");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(told["resources"], serde_json::json!({"group": {"condition": false}}));
}

#[test]
fn a_dash_is_standard_input() {
    let text = std::fs::read_to_string(directory().join("section.yaml")).expect("the template is there");
    let (told, code) = template_with_input(&["validate", "-"], &text);
    assert_eq!(code, 1, "{told}");
    assert!(told.starts_with("stdin:2:1: error: paramters: "), "{told}");

    // Files are meant from the current directory.
    let environment = "parameters: {name: x}\n";
    let (told, code) = template_with_input(&["validate", "sound.yaml", "-e", "-"], environment);
    assert_eq!(code, 0, "{told}");

    let (told, code) = template_with_input(&["validate", "-", "-e", "-"], environment);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("standard input can stand for one file only"), "{told}");
}

#[test]
fn functions_are_listed_by_version() {
    let (told, code) = template(&["functions", "2014-10-16"]);
    assert_eq!(code, 0);
    let names: Vec<&str> = told.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"get_attr") && !names.contains(&"repeat"), "{told}");
    let (told, code) = template(&["functions", "2014-10-17"]);
    assert_eq!(code, 2);
    assert!(told.contains("is \"2014-10-16\" meant?"), "{told}");
}
