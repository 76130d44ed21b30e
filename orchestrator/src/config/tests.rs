use super::*;

fn settings(flags: &[(Key, String)], env: &[(&str, &str)], file: &str) -> Result<Settings, Fault> {
    let file = parse_file(file, "config.toml")?;
    let look = |name: &str| {
        env.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    };
    Settings::resolve(&Layers {
        flags,
        env: &look,
        file: &file,
        data_dir: Path::new("/data"),
    })
}

fn origin(settings: &Settings, key: Key) -> String {
    let entry = settings.entries.iter().find(|entry| entry.key == key);
    entry.map(|entry| entry.origin.to_string()).unwrap_or_default()
}

#[test]
fn a_flag_wins_over_the_environment_over_the_file_over_the_default() {
    let file = "# mine\nslots = 2\nqueues = [\"a\", \"b\"]\nbudget_usd = 0.5\n";
    let flags = [(Key::Slots, "4".to_owned())];
    let found = settings(&flags, &[("LEGWORK_SLOTS", "3"), ("LEGWORK_QUEUES", "")], file).expect("settings");
    assert_eq!((found.slots, origin(&found, Key::Slots)), (4, "--slots".into()));
    let found = settings(&[], &[("LEGWORK_SLOTS", "3")], file).expect("settings");
    assert_eq!(
        (found.slots, origin(&found, Key::Slots)),
        (3, "environment LEGWORK_SLOTS".into())
    );
    let found = settings(&[], &[], file).expect("settings");
    assert_eq!((found.slots, origin(&found, Key::Slots)), (2, "config.toml:2".into()));
    assert_eq!(
        (found.queues, found.budget_micro_usd),
        (vec!["a".into(), "b".into()], Some(500_000))
    );
    let found = settings(&[], &[], "").expect("settings");
    assert_eq!((found.slots, origin(&found, Key::Slots)), (8, "default".into()));
    assert_eq!(found.store, StorePlace::File(PathBuf::from("/data/legwork.db")));
}

#[test]
fn a_wrong_value_is_named_with_its_place_and_its_form() {
    let shown = |result: Result<Settings, Fault>| result.expect_err("a fault").to_string();
    assert_eq!(
        shown(settings(&[], &[("LEGWORK_SLOTS", "many")], "")),
        "LW0105: environment LEGWORK_SLOTS: `many` is no value for `slots`: it is not between 1 and 16384; \
         give it a whole number from 1 to 16384"
    );
    assert_eq!(
        shown(settings(&[], &[], "\ndrain_timeout = \"5 years\"\n")),
        "LW0105: config.toml:2: `5 years` is no value for `drain_timeout`: `years` is no unit of time; \
         give it a duration such as `30s` or `5m`"
    );
}

#[test]
fn a_misspelt_key_of_the_file_gets_the_nearest_name() {
    let fault = |text| parse_file(text, "config.toml").expect_err("a fault").to_string();
    assert_eq!(
        fault("store = \"a\"\nslot = 4\n"),
        "LW0104: config.toml:2: `slot` is not known here; did you mean `slots`?"
    );
    assert_eq!(
        fault("slots = true\n"),
        "LW0105: config.toml:1: `slots` has a value of the wrong kind; give it a whole number from 1 to 16384"
    );
    assert!(fault("[worker]\nslots = 2\n").starts_with("LW0104: config.toml:1: `worker` is not known here"));
    assert!(fault("slots = \n").starts_with("LW0103: config.toml:1: "));
}
