//! heat.conf means here what it means to a Python engine: the same files, read by oslo.config and by us.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use heat_engine::settings::error::SyntaxProblem;
use heat_engine::settings::option::Treatment;
use heat_engine::settings::reference::{GROUPS, UNUSED_GROUPS};
use heat_engine::settings::value::OptionValue;
use heat_engine::settings::{ConfigSource, Settings, SettingsError, SettingsSources};
use serde_json::{Value, json};

use crate::lab::Lab;

const ORACLE: &str = include_str!("settings_oracle.py");

/// Options of the command line, and the API's half of a group that the engine looks into.
const NOT_IN_FILES: &[&str] = &[
    "DEFAULT/config_file",
    "DEFAULT/config_dir",
    "DEFAULT/config_source",
    "DEFAULT/shell_completion",
];
const PARTLY_THE_ENGINES: &str = "keystone_authtoken/";

/// What is fed to both.
struct Case {
    files: Vec<String>,
    environment: Vec<(&'static str, &'static str)>,
}

fn file(text: &str) -> Case {
    Case {
        files: vec![text.to_owned()],
        environment: Vec::new(),
    }
}

/// A directory with a file for each file of each case.
struct Directory(PathBuf);

impl Directory {
    fn new(hint: &str) -> Self {
        let path = std::env::temp_dir().join(format!("heat-engine-rs-settings-{hint}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary directory");
        Directory(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("temporary file");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Feed the cases to both and compare the value of every option, or that both refuse.
fn compare(hint: &str, cases: &[Case]) {
    let directory = Directory::new(hint);
    let mut for_python = Vec::new();
    let mut for_us = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let mut arguments = Vec::new();
        let mut sources = SettingsSources::default();
        for (part, text) in case.files.iter().enumerate() {
            let path = directory.write(&format!("{number}-{part}.conf"), text);
            arguments.extend(["--config-file".to_owned(), path.display().to_string()]);
            sources.files.push(ConfigSource::File(path));
        }
        let environment: BTreeMap<String, String> = case
            .environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        for_python.push(json!({"arguments": arguments, "environment": environment}));
        sources.environment = environment;
        for_us.push(sources);
    }
    let input = directory.write("cases.json", &Value::Array(for_python).to_string());
    let answers = Lab::get().python_json(ORACLE, &[&input.display().to_string()]);
    let answers = answers.as_array().expect("a list of outcomes");
    assert_eq!(answers.len(), cases.len());
    let mut differences = Vec::new();
    for (number, (sources, answer)) in for_us.iter().zip(answers).enumerate() {
        for difference in differences_of(sources, answer) {
            differences.push(format!(
                "{difference}\n  in {:?} {:?}",
                cases[number].files, cases[number].environment
            ));
        }
    }
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

fn differences_of(sources: &SettingsSources, answer: &Value) -> Vec<String> {
    let ours = Settings::load(sources);
    let Some(theirs) = answer["values"].as_object() else {
        let error = answer["error"].as_str().unwrap_or_default();
        return difference_in_refusal(&ours, error).into_iter().collect();
    };
    let theirs: Vec<(&String, &Value)> = theirs.iter().filter(|(name, _)| is_the_engines(name)).collect();
    let refused: Vec<&str> = theirs
        .iter()
        .filter(|(_, it)| it.get("error").is_some())
        .map(|(name, _)| name.as_str())
        .collect();
    match ours {
        Err(SettingsError::BadValue { group, option, .. }) if !refused.is_empty() => {
            let name = format!("{group}/{option}");
            let is_theirs = refused.contains(&name.as_str());
            (!is_theirs)
                .then(|| format!("we refuse {name}, they {refused:?}"))
                .into_iter()
                .collect()
        }
        Err(error) => vec![format!("we refuse what they read: {error}")],
        Ok(_) if !refused.is_empty() => vec![format!("they refuse {refused:?}, we do not")],
        Ok(settings) => theirs
            .into_iter()
            .filter_map(|(name, it)| difference_in_value(&settings, name, it))
            .collect(),
    }
}

fn is_the_engines(name: &str) -> bool {
    let group = name.split('/').next().unwrap_or_default();
    let is_ours = GROUPS
        .iter()
        .any(|known| known.name == group && known.options().any(|option| name == format!("{group}/{}", option.name)));
    let is_unused = UNUSED_GROUPS.iter().any(|(unused, _)| *unused == group) || NOT_IN_FILES.contains(&name);
    is_ours || !(is_unused || name.starts_with(PARTLY_THE_ENGINES))
}

/// Both must refuse, and name the same line. (Python finds an option outside of any group only when the option ends.)
fn difference_in_refusal(ours: &Result<Settings, SettingsError>, theirs: &str) -> Option<String> {
    match ours {
        Ok(_) => Some(format!("they refuse, we do not: {theirs}")),
        Err(SettingsError::Syntax { line, problem, .. })
            if *problem != SyntaxProblem::NoSection && !theirs.contains(&format!(":{line},")) =>
        {
            Some(format!("another line is wrong: {line}, they say {theirs}"))
        }
        Err(_) => None,
    }
}

fn difference_in_value(settings: &Settings, name: &str, theirs: &Value) -> Option<String> {
    let (group, option) = name.split_once('/').expect("GROUP/OPTION");
    let Some(ours) = settings.options.get(group, option) else {
        return Some(format!("{name} is not in the reference"));
    };
    let ours = match &ours.value {
        OptionValue::Unset => Value::Null,
        OptionValue::Text(text) => json!(text),
        OptionValue::Boolean(truth) => json!(truth),
        OptionValue::Integer(number) => json!(number),
        OptionValue::Number(number) => json!(number),
        OptionValue::Texts(texts) => json!(texts),
    };
    let theirs = &theirs["value"];
    let equal = match (ours.as_f64(), theirs.as_f64()) {
        (Some(ours), Some(theirs)) => ours == theirs,
        _ => ours == *theirs,
    };
    (!equal).then(|| format!("{name}: {ours}, they say {theirs}"))
}

#[test]
fn every_default_is_the_oracles() {
    compare(
        "defaults",
        &[Case {
            files: Vec::new(),
            environment: Vec::new(),
        }],
    );
}

#[test]
fn the_labs_own_configuration_is_read_alike() {
    let text = std::fs::read_to_string(&Lab::get().heat_conf).expect("the lab's heat.conf");
    compare("lab", &[file(&text)]);
}

#[test]
fn the_dialect_is_oslo_configs() {
    let cases = [
        // Repeated keys, quotes, white space, comments, continuation.
        "[DEFAULT]\nhost=a\nhost=b\n",
        "[DEFAULT]\nhost = \"a b\"\ntemplate_dir='x'\nenvironment_dir=\"x'\nloadbalancer_template=\"\n",
        "[DEFAULT]\nhost = ''\nregion_name_for_services =\n",
        "[DEFAULT]\nhost : a=b\ntemplate_dir=c:d\n",
        "# c\n; c\n[DEFAULT]\n#host=no\nhost=yes # kept\n",
        "[DEFAULT]\nhost = a\n  b\n\tc\n\ntemplate_dir=x\n",
        "[DEFAULT]\nhidden_stack_tags = a,\n  b,\n  c\n",
        "[DEFAULT]\nhost = \"a\n b\"\n",
        "[DEFAULT]\r\nhost=a\r\n b\r\n",
        "[DEFAULT]\nhost=a\n   \n[database]\nmax_retries=3",
        "[DEFAULT]\nhost=ü\u{a0}\n",
        "[DEFAULT]\nhost=a\u{2003}\n",
        // Groups.
        "[Database]\nmax_retries=3\n[DATABASE]\nretry_interval=4\n",
        "[default]\nhost=x\n",
        "[Default]\nhost=x\n",
        "[database]\nmax_retries=3\n[DEFAULT]\nhost=x\n[database]\nmax_retries=4\n",
        "[ database ]\nmax_retries=3\n",
        "[nobody knows]\nfoo=bar\n[DEFAULT]\nunknown=1\n",
        "[DEFAULT]\nHOST=x\nHost=y\n",
        // Syntax that is refused.
        "host=x\n",
        "\n\nhost=x\n[DEFAULT]\n",
        "[DEFAULT]\nhost\n",
        "[DEFAULT]\n=x\n",
        "[DEFAULT]\n  host=x\n",
        "[DEFAULT]\n# comment\n  continuation\n",
        "[DEFAULT]\nhost=x\n\n  y\n",
        "[DEFAULT\nhost=x\n",
        "[DEFAULT] # comment\nhost=x\n",
        "[]\nhost=x\n",
        "\u{feff}[DEFAULT]\nhost=x\n",
    ];
    compare("dialect", &cases.map(file));
}

#[test]
fn references_are_substituted_as_oslo_config_does() {
    let cases = [
        "[DEFAULT]\nhost=a\ntemplate_dir=/x/$host/y\n",
        "[DEFAULT]\nhost=a\ntemplate_dir=/x/${host}y\n",
        "[DEFAULT]\ntemplate_dir=/$control_exchange/$rpc_response_timeout/$debug/$hidden_stack_tags/$shared_services_types\n",
        "[DEFAULT]\ntemplate_dir=$template_fetch_timeout-$stack_user_domain_id-\n",
        "[database]\nconnection=mysql://${DEFAULT.control_exchange}/$max_pool_size/$control_exchange\n",
        "[DEFAULT]\nhost=$database.max_pool_size\n",
        "[DEFAULT]\nhost=${database.connection}!\n",
        "[DEFAULT]\nhost=a$$b\\$c$ $1 ${ ${} ${1} $-\n",
        "[DEFAULT]\nhost=cost: 5$\n",
        "[DEFAULT]\nhost=\\\\$$\n",
        "[DEFAULT]\nhost=$$$control_exchange\n",
        "[DEFAULT]\ncontrol_exchange=$host\nhost=x\ntemplate_dir=$control_exchange\n",
        "[DEFAULT]\nrpc_response_timeout=$engine_life_check_timeout\n",
        "[oslo_messaging_notifications]\ndriver=$topics\ndriver=noop\n",
        "[DEFAULT]\nhost=$nobody_knows\n",
        "[DEFAULT]\nhost=$control_exchange.example.com\n",
        "[DEFAULT]\nhost=$host\n",
        "[DEFAULT]\nhost=$HOST\n",
        "[clients]\nca_file=$DEFAULT.host/x\n",
        "[clients]\nca_file=$clients.cert_file/$key_file\n",
    ];
    compare("substitution", &cases.map(file));
}

#[test]
fn values_are_converted_as_oslo_config_does() {
    let mut cases = Vec::new();
    for boolean in [
        "true",
        "TRUE",
        "yes",
        "On",
        "1",
        "0",
        "no",
        "oFF",
        "False",
        "",
        "2",
        "t",
        "\" true\"",
        "none",
    ] {
        cases.push(format!("[DEFAULT]\ndebug={boolean}\n[clients]\ninsecure={boolean}\n"));
        cases.push(format!("[DEFAULT]\nencrypt_parameters_and_properties={boolean}\n"));
    }
    for number in [
        "5", " 5 ", "+5", "1_000", "1__0", "_1", "1_", "0x10", "5.0", "five", "05", "\" 7 \"", "5 # five",
    ] {
        cases.push(format!("[DEFAULT]\nstack_action_timeout={number}\n"));
        cases.push(format!("[DEFAULT]\ntemplate_fetch_timeout={number}\n"));
    }
    for number in ["1e1", "1.5", ".5", "5.", "1e", "0.5_0"] {
        cases.push(format!("[DEFAULT]\ntemplate_fetch_timeout={number}\n"));
    }
    for (option, value) in [
        ("event_purge_batch_size", "0"),
        ("max_server_name_length", "54"),
        ("max_server_name_length", "53"),
        ("template_fetch_timeout", "-1"),
        ("deferred_auth_method", "Trusts"),
        ("reauthentication_auth_method", ""),
        ("rate_limit_except_level", ""),
        ("log_rotation_type", "SIZE"),
        ("log_rotation_type", "sometimes"),
        ("max_nova_api_microversion", "2.93"),
        ("max_nova_api_microversion", "2.x"),
        ("max_nova_api_microversion", "3.1"),
        ("max_nova_api_microversion", "12.1"),
        ("max_resources_per_stack", "-1"),
        ("hidden_stack_tags", "a, b ,,c,"),
        ("hidden_stack_tags", ","),
        ("hidden_stack_tags", " , "),
        ("hidden_stack_tags", "\"a, b\", 'c'"),
        ("shared_services_types", ""),
        ("num_engine_workers", ""),
    ] {
        cases.push(format!("[DEFAULT]\n{option}={value}\n"));
    }
    for url in [
        "http://heat.example.com:8000/v1/waitcondition",
        "https://[::1]:8000",
        "https://user:pass@host/%41?x=y#z",
        "HTTP://host",
        "ftp://host/",
        "http://",
        "http:///path",
        "http:/host",
        "//host/path",
        "host:8000",
        "http://host:80a/",
        "http://ho st/",
        "http://host/a b",
        "http://host/%(tenant_id)s",
        "http://host/<x>",
        "http://host/\"x",
        "http://ho_st/",
        "http://host..example/",
        "http://%zz/",
        "http://:8000/",
        "http://host:/",
        "http://host:99999/",
        "http://[::1/",
        "http://[fe80::1%25eth0]/",
        "http://1.2.3.400/",
        "http://hóst/",
        "",
    ] {
        cases.push(format!("[DEFAULT]\nheat_metadata_server_url={url}\n"));
        cases.push(format!("[auth_password]\nallowed_auth_uris={url}\n"));
    }
    cases.push("[auth_password]\nallowed_auth_uris=http://a/x,y,https://b\n".to_owned());
    cases.push("[auth_password]\nallowed_auth_uris=nonsense,http://b\n".to_owned());
    let cases: Vec<Case> = cases.iter().map(|text| file(text)).collect();
    compare("values", &cases);
}

#[test]
fn former_names_and_later_files_win_as_in_oslo_config() {
    let single = [
        "[DEFAULT]\nrpc_thread_pool_size=3\n",
        "[DEFAULT]\nrpc_thread_pool_size=3\nexecutor_thread_pool_size=4\n",
        "[DEFAULT]\nexecutor_thread_pool_size=4\nrpc_thread_pool_size=3\n",
        "[oslo_messaging_rabbit]\nkombu_reconnect_timeout=7\n",
        "[DEFAULT]\nlogfile=a\nlogdir=b\nlog-config=c\n",
        "[DEFAULT]\nlog-file=a\n",
        "[cache]\nmemcache_password=a\nredis_password=b\n",
        "[trustee]\nauth_plugin=password\nuser-name=u\n",
        "[DEFAULT]\nsql_connection=mysql://x\n",
    ];
    let mut cases: Vec<Case> = single.into_iter().map(file).collect();
    for files in [
        ["[DEFAULT]\nhost=a\ntemplate_dir=$host\n", "[DEFAULT]\nhost=b\n"],
        [
            "[DEFAULT]\nexecutor_thread_pool_size=4\n",
            "[DEFAULT]\nrpc_thread_pool_size=3\n",
        ],
        [
            "[oslo_messaging_notifications]\ndriver=noop\ndriver=log\n",
            "[oslo_messaging_notifications]\ndriver=messagingv2\n",
        ],
        [
            "[oslo_policy]\npolicy_dirs=a\n",
            "[oslo_policy]\npolicy_dirs=b\npolicy_dirs=c\n",
        ],
        ["[DEFAULT]\ndebug=true\n", "[DEFAULT]\ndebug=false\n"],
    ] {
        cases.push(Case {
            files: files.map(str::to_owned).to_vec(),
            environment: Vec::new(),
        });
    }
    compare("names", &cases);
}

#[test]
fn the_environment_wins_over_files_as_in_oslo_config() {
    let text = "[DEFAULT]\nhost=a\ndebug=false\n[database]\nmax_retries=3\n";
    let environments: [&[(&str, &str)]; 9] = [
        &[("OS_DEFAULT__HOST", "b")],
        &[("OS_DEFAULT__HOST", "")],
        &[("OS_DEFAULT__HOST", "\"b\"")],
        &[("OS_DEFAULT__HOST", "$control_exchange")],
        &[
            ("OS_DATABASE__MAX_RETRIES", "4"),
            ("OS_DATABASE__CONNECTION", "mysql://x"),
        ],
        &[("OS_DATABASE__MAX_RETRIES", "four")],
        &[("OS_DEFAULT__RPC_THREAD_POOL_SIZE", "3")],
        &[("OS_DEFAULT__DEBUG", "true")],
        &[("os_default__host", "b")],
    ];
    let cases: Vec<Case> = environments
        .iter()
        .map(|environment| Case {
            files: vec![text.to_owned()],
            environment: environment.to_vec(),
        })
        .collect();
    compare("environment", &cases);
}

/// Files that nobody would write, from pieces that somebody might.
#[test]
fn files_put_together_by_chance_are_read_alike() {
    const PIECES: &[&str] = &[
        "[DEFAULT]",
        "[database]",
        "[Database]",
        "[clients_nova]",
        "[oslo_messaging_rabbit]",
        "[nobody]",
        "[",
        "]",
        "host",
        "debug",
        "max_retries",
        "hidden_stack_tags",
        "endpoint_type",
        "ssl",
        "rabbit_interval_max",
        "driver",
        "=",
        "=",
        "=",
        ":",
        "\n",
        "\n",
        "\n",
        "\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "#",
        ";",
        "\"",
        "'",
        ",",
        "$host",
        "${host}",
        "$$",
        "$",
        "\\$",
        "true",
        "false",
        "1",
        "0",
        "-1",
        "3",
        "public",
        "a",
        "b,c",
        "ü",
        "\r\n",
    ];
    let mut state: u64 = 20_261_129;
    let mut next = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % limit
    };
    let mut cases = Vec::new();
    for _ in 0..600 {
        let mut text = "[DEFAULT]\n".to_owned();
        for _ in 0..next(24) {
            text.push_str(PIECES[next(PIECES.len())]);
        }
        cases.push(file(&text));
    }
    compare("chance", &cases);
}

/// The list that operators read is the list that is compiled in.
#[test]
fn the_written_reference_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/compatibility-options.md");
    let expected = heat_engine::settings::reference::as_markdown();
    if std::env::var_os("WRITE_REFERENCE").is_some() {
        std::fs::write(&path, &expected).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == expected,
        "run this test with WRITE_REFERENCE=1 and commit {}",
        path.display()
    );
}

/// What is not honoured says what happens in its place, in a sentence.
#[test]
fn what_is_not_honoured_is_explained() {
    for group in GROUPS {
        for option in group.options() {
            if let Treatment::Instead(what) = option.treatment {
                assert!(
                    what.len() > 10,
                    "[{}] {}: {what:?} explains nothing",
                    group.name,
                    option.name
                );
            }
        }
    }
}
