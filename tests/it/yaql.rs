//! YAQL against yaql 3.2.0 itself: the list of functions, a catalogue of expressions, and random ones.
//!
//! `tests/conformance/yaql/run` calls the comparison with other seeds and counts.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use chrono::DateTime;
use heat_engine::python::json_reader::loads;
use heat_engine::yaql::{Allowance, Limits, Statement, Surroundings, Value, library_listing};
use serde_json::{Value as Json, json};

use crate::lab::Lab;

/// Expressions whose outcome differs on purpose, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    (
        "call(coalesce, [null, 5], {})",
        "null as an alternative that is not an expression: Python cannot call it",
    ),
    (
        "datetime(2015, 8, 29, offset => timespan(days => 2))",
        "Python complains of such an offset only when the moment is shown",
    ),
];

const NOW: i64 = 1_790_000_000_000_000;

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/conformance/yaql")
        .join(name)
}

/// Runs a script with the lab's Python on some input.
fn python(script: &str, arguments: &[&str], input: &str) -> String {
    let mut process = Command::new(&Lab::get().python)
        .args(["-W", "ignore"])
        .arg(file(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the lab's Python starts");
    let mut stdin = process.stdin.take().expect("a pipe");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = process.wait_with_output().expect("the script ends");
    writer.join().expect("the writer ends").expect("the script reads all");
    assert!(output.status.success(), "{script} failed");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_function_of_the_oracle_is_there() {
    let theirs = python("context.py", &[], "");
    let recorded = std::fs::read_to_string(file("context.txt")).expect("context.txt is there");
    assert_eq!(recorded, theirs, "context.txt is not what context.py prints");
    let ours = library_listing();
    let missing: Vec<&str> = theirs
        .lines()
        .filter(|line| !ours.iter().any(|known| known == line))
        .collect();
    let unknown: Vec<&String> = ours
        .iter()
        .filter(|line| !theirs.lines().any(|known| known == *line))
        .collect();
    assert!(missing.is_empty(), "missing here: {missing:#?}");
    assert!(unknown.is_empty(), "not in the oracle: {unknown:#?}");
    println!("{} functions", ours.len());
}

#[test]
fn the_catalogue_is_equal() {
    let catalogue = std::fs::read_to_string(file("catalogue.json")).expect("catalogue.json is there");
    let catalogue = loads(&catalogue).expect("catalogue.json is JSON");
    let mut cases = Vec::new();
    for group in catalogue.as_array().expect("a list of groups") {
        for expression in group["expressions"].as_array().expect("a list of expressions") {
            let mut case = group.clone();
            case["expression"] = expression.clone();
            case.as_object_mut().expect("a map").shift_remove("expressions");
            cases.push(case);
        }
    }
    compare("catalogue", &cases);
}

#[test]
fn random_expressions_are_equal() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let (seed, count) = (variable("YAQL_SEED", "1"), variable("YAQL_COUNT", "3000"));
    let cases = python("generate.py", &[&seed, &count], "");
    let cases: Vec<Json> = cases.lines().map(|line| loads(line).expect("a case")).collect();
    compare(&format!("random, seed {seed}"), &cases);
}

/// B64: the limits count what Python counts, so both sides take the same data and refuse the same, on either side of each.
#[test]
fn limits_are_pythons() {
    let mut cases = Vec::new();
    for length in [199, 200, 201, 1000, 1001] {
        let data: Vec<usize> = (0..length).collect();
        for expression in ["$.data.select($).len()", "$.data.select($).toList()", "$.data.len()"] {
            for limits in [
                json!({}),
                json!({"iterators": 1000}),
                json!({"iterators": -1, "memory": -1}),
            ] {
                cases.push(json!({"expression": expression, "data": data, "limits": limits}));
            }
        }
    }
    for length in (9900..10_000).step_by(10).chain([20_000]) {
        for limits in [json!({}), json!({"memory": 200_000})] {
            cases.push(json!({"expression": "$.data + ''", "data": "x".repeat(length), "limits": limits}));
        }
    }
    compare("limits", &cases);
}

/// Both sides evaluate the cases; values, and errors with their texts, must be equal.
fn compare(what: &str, cases: &[Json]) {
    let input: String = cases.iter().map(|case| format!("{case}\n")).collect();
    let theirs = python("oracle.py", &[], &input);
    let theirs: Vec<Json> = theirs.lines().map(|line| loads(line).expect("an outcome")).collect();
    assert_eq!(theirs.len(), cases.len(), "an outcome for each case");
    let mut reports = Vec::new();
    let mut on_purpose = Vec::new();
    for (case, expected) in cases.iter().zip(&theirs) {
        let ours = outcome(case);
        if same(case, expected, &ours) {
            continue;
        }
        let expression = case["expression"].as_str().unwrap_or_default();
        match DIFFERENCES.iter().find(|(known, _)| *known == expression) {
            Some((known, _)) => on_purpose.push(*known),
            None => reports.push(format!("{expression}\n    yaql: {expected}\n    ours: {ours}")),
        }
    }
    println!(
        "{what}: {} compared, {} equal, {} different on purpose, {} different",
        cases.len(),
        cases.len() - on_purpose.len() - reports.len(),
        on_purpose.len(),
        reports.len()
    );
    assert!(reports.is_empty(), "{}", reports.join("\n"));
}

fn same(case: &Json, expected: &Json, ours: &Json) -> bool {
    if expected == ours {
        return true;
    }
    // Python says several things of too deep recursion.
    if [expected, ours]
        .iter()
        .all(|outcome| outcome["error"][0] == "RecursionError")
    {
        return true;
    }
    // Python orders texts in a set by chance.
    let expression = case["expression"].as_str().unwrap_or_default();
    let has_sets = ["set(", "toSet(", "characters("]
        .iter()
        .any(|name| expression.contains(name));
    has_sets && sorted_characters(expected) == sorted_characters(ours)
}

fn sorted_characters(outcome: &Json) -> Vec<char> {
    let mut characters: Vec<char> = outcome.to_string().chars().collect();
    characters.sort_unstable();
    characters
}

fn outcome(case: &Json) -> Json {
    let mut limits = Limits::default();
    if let Some(iterators) = case["limits"]["iterators"].as_i64() {
        limits.iterators = iterators;
    }
    if let Some(memory) = case["limits"]["memory"].as_i64() {
        limits.memory = memory;
    }
    let now = DateTime::from_timestamp_micros(case["now"].as_i64().unwrap_or(NOW)).expect("a moment");
    let surroundings = Surroundings {
        now: now.naive_utc(),
        local_offset: 0,
        seed: 1,
    };
    let data = json!({"data": case.get("data")});
    let expression = case["expression"].as_str().expect("an expression");
    let result = Statement::parse(expression)
        .and_then(|statement| statement.evaluate(&data, limits, surroundings, &Allowance::default(), encoded));
    match result {
        Ok(value) => json!({"ok": value}),
        Err(error) => json!({"error": [error.class_name(), error.to_string()]}),
    }
}

/// The value as `oracle.py` writes it.
fn encoded(value: &Value) -> Json {
    let all = |items: &[Value]| items.iter().map(encoded).collect::<Vec<Json>>();
    match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => json!(flag),
        Value::Text(text) => json!(&**text),
        Value::Number(number) => json!({"number": number.text()}),
        Value::List(items) => json!({"list": all(items)}),
        Value::Tuple(items) => json!({"tuple": all(items)}),
        Value::Dict(dict) => {
            let pairs = dict.iter().map(|(key, value)| json!([encoded(key), encoded(value)]));
            json!({"dict": pairs.collect::<Vec<Json>>()})
        }
        Value::Set(set) => {
            let values = set.values();
            let mut items: Vec<String> = values.iter().map(|value| encoded(value).to_string()).collect();
            let has_order = values
                .iter()
                .all(|value| matches!(value, Value::Number(_) | Value::Bool(_)));
            if !has_order {
                items.sort_unstable();
            }
            json!({"set": items})
        }
        other => json!({"other": other.to_text()}),
    }
}

/// Expressions that would never end, or take all memory: each comes back soon, with an error.
#[test]
fn nothing_runs_away() {
    let hostile = [
        "range(200).where(range(200).where(range(200).where(range(200).any(false)).any()).any()).any()".to_owned(),
        "def(f, f($)) -> f(1)".to_owned(),
        "def(f, f($) + f($)) -> f(1)".to_owned(),
        "pow(10, pow(10, 10))".to_owned(),
        "shiftBitsLeft(1, pow(2, 40))".to_owned(),
        "'a' * 1000000000".to_owned(),
        "[1] * 1000000000".to_owned(),
        "range(200).aggregate([$1, $1], [])".to_owned(),
        "range(200).aggregate(range(200).aggregate([$1], $1), [])".to_owned(),
        "range(200).aggregate(range(200).aggregate($1.select($), $1), [1]).toList()".to_owned(),
        "range(200).aggregate(range(200).aggregate($1.append(1), $1), [1]).toList()".to_owned(),
        "range(200).aggregate(range(200).aggregate($1 -> let($1), $1), let(1))".to_owned(),
        "('a' * 9000).replace('', 'b' * 9000)".to_owned(),
        "regex('(x+x+)+y').matches('x' * 5000)".to_owned(),
        "generateMany(1, sequence())".to_owned(),
        "sequence().toSet()".to_owned(),
        "1.repeat().toList()".to_owned(),
        format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{}1", "-".repeat(100_000)),
        format!("1{}", "+1".repeat(100_000)),
        format!("1{}", "->1".repeat(100_000)),
        format!("1{}", ".f()".repeat(100_000)),
    ];
    for expression in hostile {
        let case = json!({"expression": expression, "data": null});
        for limits in [json!({}), json!({"iterators": -1, "memory": -1})] {
            let mut case = case.clone();
            case["limits"] = limits;
            let (sender, receiver) = std::sync::mpsc::channel();
            // The stack of a worker of the daemon.
            let worker = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
            worker
                .spawn(move || sender.send(outcome(&case)))
                .expect("a thread starts");
            let outcome = receiver.recv_timeout(Duration::from_secs(60));
            let shown: String = expression.chars().take(80).collect();
            assert!(outcome.is_ok(), "does not end: {shown}");
        }
    }
}
