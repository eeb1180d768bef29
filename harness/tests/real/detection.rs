use std::path::Path;

use picklock_harness::real::{Binary, World, detect};

#[tokio::test]
async fn an_engine_with_an_image_is_preferred() {
    let found = detect(None, None).await;
    assert!(
        matches!(found.world, Some(World::Docker(_))),
        "{}",
        found.reason
    );
    assert!(!found.reason.contains('\n'), "{}", found.reason);
}

#[tokio::test]
async fn without_an_image_a_server_on_path_is_taken() {
    let found = detect(Some("127.0.0.1:1/no-such-redis:8"), None).await;
    let expected = World::Process(Binary::find(None).unwrap());
    assert_eq!(found.world, Some(expected));
    assert!(found.reason.contains("no-such-redis"), "{}", found.reason);
    assert!(!found.reason.contains('\n'), "{}", found.reason);
}

#[tokio::test]
async fn with_neither_both_reasons_are_told() {
    let nowhere = Path::new("/nowhere/redis-server");
    let found = detect(Some("127.0.0.1:1/no-such-redis:8"), Some(nowhere)).await;
    assert_eq!(found.world, None);
    assert!(found.reason.contains("no-such-redis") && found.reason.contains("/nowhere"));
}
