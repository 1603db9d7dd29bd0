//! Several engines of ours on one vhost.

use std::collections::BTreeMap;

use futures_util::future::join_all;

use super::site::Site;
use super::templates::web;

#[tokio::test(flavor = "multi_thread")]
async fn ten_stacks_on_two_engines_are_made_once() {
    let site = Site::new("ten", "").await;
    let (first, second) = tokio::join!(site.engine(), site.engine());
    let names: Vec<String> = (0..10).map(|number| format!("stack{number}")).collect();
    let stacks = join_all(names.iter().map(|name| site.create(name, web(1)))).await;
    for stack in &stacks {
        site.until_settled(stack, "CREATE_COMPLETE").await;
        let resources = site.resources(stack).await;
        assert_eq!(resources.len(), 30);
        let mut events: BTreeMap<String, usize> = BTreeMap::new();
        for event in site.events(stack).await {
            *events.entry(event).or_default() += 1;
        }
        assert!(events.values().all(|count| *count == 1), "{events:#?}");
        assert_eq!(events.len(), 2 * (resources.len() + 1), "{events:#?}");
    }
    join_all(stacks.iter().map(|stack| site.delete(stack))).await;
    for stack in &stacks {
        site.until_settled(stack, "gone").await;
    }
    assert_eq!(site.count("resource").await, 0);
    for engine in [&first, &second] {
        assert!(engine.log().contains("cast check_resource"), "one engine did nothing");
    }
    site.close().await;
}
