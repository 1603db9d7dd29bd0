//! The probes: schemas, and what a template may give to them.

use heat_engine::resource::constraints::Constraint;
use heat_engine::resource::literal::Literal;
use heat_engine::resource::properties::Names;
use heat_engine::resource::schema::{ITEM, Property};
use heat_engine::resource::translation::{Source, TranslationRule};
use serde_json::{Value, json};

pub struct Probe {
    pub schema: &'static [Property<'static>],
    pub rules: &'static [TranslationRule],
    pub names: Names,
    pub given: Value,
    /// For probes that compare.
    pub before: Option<Value>,
}

static SCALARS: &[Property] = &[
    Property::string("text").default_str("by default").update_allowed(),
    Property::string("bare_text"),
    Property::integer("integer").default_int(7).update_allowed(),
    Property::integer("bare_integer"),
    Property::number("number").default_float(1.5).update_allowed(),
    Property::boolean("boolean").default_bool(true).update_allowed(),
    Property::boolean("bare_boolean"),
    Property::any("anything"),
];

static CONTAINERS: &[Property] = &[
    Property::map("map").update_allowed(),
    Property::map("map_by_default").default_map(&[("a", Literal::Integer(1))]),
    Property::list("list").update_allowed(),
    Property::list("list_by_default").default_list(&[Literal::Text("a")]),
    Property::map("converted_map").allow_conversion(),
    Property::list("converted_list").allow_conversion(),
];

static NESTED: &[Property] = &[
    Property::list("networks").items(
        &Property::map(ITEM)
            .keys(&[
                Property::string("name").required(),
                Property::integer("port")
                    .default_int(80)
                    .constrain(&[Constraint::range(Some(1), Some(65535))]),
                Property::string("description").update_allowed(),
                Property::list("tags").items(&Property::string(ITEM).constrain(&[Constraint::length(Some(2), None)])),
                Property::boolean("later").not_implemented(),
            ])
            .constrain(&[Constraint::length(Some(1), None)]),
    ),
    Property::map("options").keys(&[
        Property::string("mode")
            .default_str("fast")
            .constrain(&[Constraint::one_of(&["fast", "safe"])]),
        Property::number("ratio"),
    ]),
    Property::list("numbers").items(&Property::integer(ITEM)),
];

static REQUIRED: &[Property] = &[
    Property::string("name").required(),
    Property::map("place")
        .required()
        .keys(&[Property::string("city").required()]),
    Property::string("description").update_allowed(),
    Property::string("later").not_implemented(),
];

static CONSTRAINED: &[Property] = &[
    Property::string("text").constrain(&[Constraint::length(Some(2), Some(4))]),
    Property::list("list").constrain(&[Constraint::length(None, Some(2))]),
    Property::map("map").constrain(&[Constraint::length(Some(1), None)]),
    Property::integer("integer").constrain(&[Constraint::range(Some(1), Some(10))]),
    Property::number("number").constrain(&[Constraint::range_of(Some(Literal::Float(0.5)), None)]),
    Property::integer("even").constrain(&[Constraint::modulo(2, 0)]),
    Property::number("odd").constrain(&[Constraint::modulo(-4, -1).describe("Must be odd in its way.")]),
    Property::string("word").constrain(&[Constraint::one_of(&["one", "zwei", "drei\u{e9}"])]),
    Property::integer("digit").constrain(&[Constraint::one_of_values(&[Literal::Integer(1), Literal::Integer(2)])]),
    Property::boolean("truth").constrain(&[Constraint::one_of_values(&[Literal::Boolean(true)])]),
    Property::list("words").constrain(&[Constraint::one_of(&["CREATE", "DELETE"])]),
    Property::string("pattern").constrain(&[Constraint::pattern("[a-z]+|[a-z]+[0-9]")]),
    Property::string("both").constrain(&[
        Constraint::length(Some(3), None),
        Constraint::pattern("^[a-z]*$").describe("Small letters only."),
    ]),
    Property::string("thing").constrain(&[Constraint::custom("known")]),
    Property::list("things").constrain(&[Constraint::custom("known").describe("Known things only.")]),
    Property::string("unknown").constrain(&[Constraint::custom("nobody.knows")]),
];

static UPDATED: &[Property] = &[
    Property::string("changeable").update_allowed(),
    Property::number("number").default_int(1).update_allowed(),
    Property::map("map").update_allowed(),
    Property::string("replacing"),
    Property::string("immutable").immutable(),
    Property::string("also_immutable").default_str("x").immutable(),
];

static TRANSLATED: &[Property] = &[
    Property::string("network").constrain(&[Constraint::custom("known")]),
    Property::string("old_network"),
    Property::string("domain").default_str("default"),
    Property::list("groups").items(&Property::string(ITEM)),
    Property::list("more_groups"),
    Property::list("ports").items(&Property::map(ITEM).keys(&[
        Property::string("port"),
        Property::string("old_port").constrain(&[Constraint::length(None, Some(3))]),
        Property::map("fixed"),
        Property::string("address"),
    ])),
    Property::string("gone")
        .default_str("nothing")
        .constrain(&[Constraint::length(Some(5), None)]),
    Property::string("renamed").required(),
];

static RENAMES: &[TranslationRule] = &[
    TranslationRule::replace(&["network"], Source::Path(&["old_network"])),
    TranslationRule::resolve(&["network"], "find"),
    TranslationRule::resolve(&["domain"], "find"),
    TranslationRule::add(&["groups"], Source::Path(&["more_groups"])),
    TranslationRule::resolve(&["groups"], "find"),
    TranslationRule::replace(&["ports", "port"], Source::Sibling("old_port")),
    TranslationRule::resolve(&["ports", "port"], "find").entity("port"),
    TranslationRule::replace(&["ports", "address"], Source::Inside("fixed", &["ip", "v4"])),
    TranslationRule::delete(&["gone"]),
    TranslationRule::replace(&["renamed"], Source::Value(Literal::Text("the only name"))),
];

static ADDED: &[TranslationRule] = &[
    TranslationRule::add(&["groups"], Source::Value(Literal::List(&[Literal::Text("always")]))),
    TranslationRule::add(&["domain"], Source::Value(Literal::List(&[Literal::Text("never")]))),
    TranslationRule::resolve(&["ports", "port"], "find"),
    TranslationRule::delete(&["ports", "old_port"]),
    TranslationRule::replace(&["network"], Source::Path(&["ports", "address"])),
];

fn read(schema: &'static [Property<'static>], given: Vec<Value>) -> impl Iterator<Item = Probe> {
    translate(schema, &[], &[Names::AsGiven], given)
}

fn translate(
    schema: &'static [Property<'static>],
    rules: &'static [TranslationRule],
    names: &'static [Names],
    given: Vec<Value>,
) -> impl Iterator<Item = Probe> {
    given.into_iter().flat_map(move |given| {
        names.iter().map(move |names| Probe {
            schema,
            rules,
            names: *names,
            given: given.clone(),
            before: None,
        })
    })
}

fn compare(pairs: Vec<(Value, Value)>) -> impl Iterator<Item = Probe> {
    pairs.into_iter().map(|(before, given)| Probe {
        schema: UPDATED,
        rules: &[],
        names: Names::AsGiven,
        given,
        before: Some(before),
    })
}

fn each(name: &str, values: Vec<Value>) -> Vec<Value> {
    values.into_iter().map(|value| json!({name: value})).collect()
}

pub fn all() -> Vec<Probe> {
    let everything = || {
        let texts = [
            "3",
            " 3 ",
            "3.5",
            "1_000",
            "",
            "true",
            "True",
            "FALSE",
            "yes",
            "nan?",
            "1e3",
            "-inf",
            "a,b",
            "{\"a\": 1}",
            "é'\"",
        ];
        let numbers = [
            "0",
            "1",
            "-2",
            "2.0",
            "2.7",
            "-2.7",
            "1e300",
            "123456789012345678901234567890",
        ];
        let others = [
            json!(null),
            json!(true),
            json!(false),
            json!([]),
            json!([1, "b"]),
            json!({}),
            json!({"a": [null, 1.0]}),
        ];
        let numbers = numbers.iter().map(|number| serde_json::from_str(number).unwrap());
        texts
            .into_iter()
            .map(Value::from)
            .chain(numbers)
            .chain(others)
            .collect::<Vec<Value>>()
    };
    let mut probes: Vec<Probe> = Vec::new();
    for property in SCALARS {
        probes.extend(read(SCALARS, each(property.name, everything())));
    }
    for property in CONTAINERS {
        probes.extend(read(CONTAINERS, each(property.name, everything())));
    }
    probes.extend(read(SCALARS, vec![json!({}), json!({"text": 1, "nobody": 1})]));
    probes.extend(read(NESTED, nested()));
    probes.extend(read(REQUIRED, required()));
    probes.extend(read(CONSTRAINED, constrained()));
    let all_names = &[Names::AsGiven, Names::Found, Names::FoundOrAsGiven];
    probes.extend(translate(TRANSLATED, RENAMES, all_names, translated()));
    probes.extend(translate(TRANSLATED, ADDED, all_names, translated()));
    probes.extend(compare(compared()));
    probes
}

fn nested() -> Vec<Value> {
    vec![
        json!({"networks": [{"name": "a"}, {"name": "b", "port": "8080", "tags": ["xy"]}]}),
        json!({"networks": [{"name": "a"}, {"port": 1}]}),
        json!({"networks": [{"name": "a"}, "b"]}),
        json!({"networks": [{"name": "a", "color": "red"}]}),
        json!({"networks": [{"name": "a", "port": 0}]}),
        json!({"networks": [{"name": "a", "port": "x"}]}),
        json!({"networks": [{"name": ["a"]}]}),
        json!({"networks": [{"name": null, "tags": null}]}),
        json!({"networks": [{"name": "a", "tags": ["x"]}]}),
        json!({"networks": [{"name": "a", "tags": ["xy", ["z"]]}]}),
        json!({"networks": [{"name": "a", "tags": "xy"}]}),
        json!({"networks": [{"name": "a", "later": true}]}),
        json!({"networks": [null]}),
        json!({"networks": [{}]}),
        json!({"networks": {}}),
        json!({"networks": null, "options": null, "numbers": null}),
        json!({"options": {}}),
        json!({"options": {"mode": "slow"}}),
        json!({"options": {"ratio": "0.5", "mode": null}}),
        json!({"options": {"ratio": "half"}}),
        json!({"options": {"ratio": [1]}}),
        json!({"options": "{}"}),
        json!({"options": [["mode", "safe"]]}),
        json!({"numbers": ["1", 2.9, true, " 4 "]}),
        json!({"numbers": ["1", "x"]}),
        json!({"numbers": [null]}),
    ]
}

fn required() -> Vec<Value> {
    vec![
        json!({}),
        json!({"name": "a"}),
        json!({"name": "a", "place": null}),
        json!({"name": "a", "place": {}}),
        json!({"name": "a", "place": {"city": "Q"}}),
        json!({"name": null, "place": {"city": null}}),
        json!({"name": "a", "place": {"city": "Q", "street": 1}}),
        json!({"name": "a", "place": {"city": "Q"}, "description": "own"}),
        json!({"name": "a", "place": {"city": "Q"}, "description": null}),
        json!({"name": "a", "place": {"city": "Q"}, "later": "now"}),
        json!({"nobody": 1, "name": []}),
    ]
}

fn constrained() -> Vec<Value> {
    [
        each(
            "text",
            vec![
                json!("a"),
                json!("ab"),
                json!("äöüß"),
                json!("abcde"),
                json!(12345),
                json!(null),
            ],
        ),
        each("list", vec![json!([1, 2]), json!([1, 2, 3])]),
        each("map", vec![json!({}), json!({"a": 1}), json!(null)]),
        each(
            "integer",
            vec![
                json!(0),
                json!(1),
                json!("10"),
                json!(11),
                json!(10.9),
                json!(true),
                json!(null),
            ],
        ),
        each(
            "number",
            vec![
                json!(0.5),
                json!("0.4"),
                json!(0),
                json!(true),
                json!(false),
                json!("1e400"),
            ],
        ),
        each("even", vec![json!(2), json!(3), json!(-3), json!("4")]),
        each("odd", vec![json!(3), json!(-1), json!(-5), json!(4.5)]),
        each(
            "word",
            vec![json!("one"), json!("two"), json!("dreié"), json!("é"), json!(1)],
        ),
        each("digit", vec![json!(1), json!("2"), json!(3), json!(true), json!(2.9)]),
        each("truth", vec![json!(true), json!("TRUE"), json!(false)]),
        each(
            "words",
            vec![json!([]), json!(["CREATE"]), json!(["CREATE", "UPDATE"]), json!([1])],
        ),
        each(
            "pattern",
            vec![json!("abc"), json!("abc1"), json!("1abc"), json!("abc\n"), json!("")],
        ),
        each("both", vec![json!("ab"), json!("abc"), json!("aBc"), json!("a")]),
        each("thing", vec![json!("good"), json!("bad one"), json!(null), json!([1])]),
        each("things", vec![json!(["good"]), json!(["good", "bad"]), json!([])]),
        each("unknown", vec![json!("x")]),
        vec![
            json!({"thing": "bad", "unknown": "x"}),
            json!({"thing": "bad", "integer": 0}),
            json!({"things": ["bad"], "thing": "good", "unknown": "x"}),
        ],
    ]
    .concat()
}

fn translated() -> Vec<Value> {
    vec![
        json!({}),
        json!({"network": "n"}),
        json!({"old_network": "o"}),
        json!({"network": "n", "old_network": "o"}),
        json!({"network": "", "old_network": "o"}),
        json!({"network": "bad"}),
        json!({"domain": "d"}),
        json!({"domain": ""}),
        json!({"domain": "bad", "network": "bad"}),
        json!({"domain": ["d"]}),
        json!({"groups": ["a", "b"]}),
        json!({"groups": ["a", "", null], "more_groups": ["c"]}),
        json!({"groups": ["a", "bad"], "more_groups": ["c"]}),
        json!({"groups": "a"}),
        json!({"ports": [{"port": "p"}, {"old_port": "q"}, {}]}),
        json!({"ports": [{"port": "p", "old_port": "q"}]}),
        json!({"ports": [{"old_port": "much too long"}]}),
        json!({"ports": [{"port": "bad"}]}),
        json!({"ports": [{"fixed": {"ip": {"v4": "1.2.3.4"}}}, {"fixed": {"ip": 1}}, {"fixed": null}]}),
        json!({"ports": [{"fixed": {"ip": {"v4": "1.2.3.4"}}, "address": "4.3.2.1"}]}),
        json!({"ports": [{"fixed": {"ip": [{"v4": "1.2.3.4"}, {"v4": null}]}}]}),
        json!({"ports": [{"nobody": 1}]}),
        json!({"gone": "here"}),
        json!({"gone": ["not even", "a text"]}),
        json!({"renamed": "something else"}),
        json!({"nobody": 1}),
    ]
}

fn compared() -> Vec<(Value, Value)> {
    vec![
        (json!({}), json!({})),
        (json!({}), json!({"changeable": "a"})),
        (json!({"changeable": "a"}), json!({})),
        (json!({"changeable": "1"}), json!({"changeable": 1})),
        (json!({"number": 1.0}), json!({})),
        (json!({"number": "1"}), json!({"number": true})),
        (json!({"number": "2"}), json!({"number": 3})),
        (json!({"number": "x"}), json!({"number": 3})),
        (json!({"number": 3}), json!({"number": "x"})),
        (
            json!({"map": {"a": 1, "b": [1.0]}}),
            json!({"map": {"b": [1], "a": true}}),
        ),
        (json!({"map": {"a": 1}}), json!({"map": {"a": 1, "b": null}})),
        (json!({"replacing": "a"}), json!({"replacing": "b"})),
        (json!({"replacing": "a", "changeable": "a"}), json!({"changeable": "b"})),
        (json!({"immutable": "a"}), json!({"immutable": "b"})),
        (
            json!({"immutable": "a"}),
            json!({"immutable": "b", "replacing": "c", "also_immutable": "d"}),
        ),
        (json!({"also_immutable": "x"}), json!({})),
        (json!({"nobody": 1}), json!({})),
    ]
}
