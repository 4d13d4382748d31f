//! Garbage collection by owner references.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, secret};

behaviours![
    an_object_goes_after_its_owner,
    an_object_stays_while_one_of_its_owners_does,
    an_object_whose_owner_never_was_goes,
    an_owner_of_the_same_name_is_another_owner,
    an_object_whose_owner_is_orphaning_stays,
    an_owner_in_the_foreground_waits_for_what_blocks_it,
    an_owner_in_the_foreground_does_not_wait_for_others,
    a_deletion_in_the_foreground_goes_down_the_whole_chain,
    an_object_that_changes_its_owner_follows_the_new_one,
    an_object_of_the_cluster_cannot_be_owned_from_a_namespace,
    an_owner_of_the_cluster_owns_in_every_namespace,
    an_owner_of_an_unknown_kind_keeps_its_objects,
];

async fn an_object_goes_after_its_owner(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    let mut dependent = secret("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    bed.create("secrets", dependent).await;
    bed.delete(bed.object("secrets", "owner")).await.expect(200);
    bed.gone(&bed.object("secrets", "dependent")).await;
}

fn owned(name: &str, owners: &[&Value]) -> Value {
    let owners = owners.iter().map(|owner| {
        json!({
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "blockOwnerDeletion": true,
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        })
    });
    let mut object = secret(name);
    object["metadata"]["ownerReferences"] = owners.collect();
    object
}

async fn an_object_stays_while_one_of_its_owners_does(bed: &Bed) {
    let first = bed.create("secrets", secret("first")).await;
    let second = bed.create("secrets", secret("second")).await;
    bed.create("secrets", owned("both", &[&first, &second])).await;
    bed.delete(bed.object("secrets", "first")).await.expect(200);
    bed.eventually("the first owner to be forgotten", async || {
        let both = bed.read("secrets", "both").await;
        let owners = both["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
        if owners == 1 {
            Ok(())
        } else {
            Err(both.to_string())
        }
    })
    .await;
    bed.delete(bed.object("secrets", "second")).await.expect(200);
    bed.gone(&bed.object("secrets", "both")).await;
}

async fn an_object_whose_owner_never_was_goes(bed: &Bed) {
    let nobody = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "nobody", "uid": "11111111-2222-3333-4444-555555555555"},
    });
    bed.create("secrets", owned("orphan", &[&nobody])).await;
    bed.gone(&bed.object("secrets", "orphan")).await;
}

async fn an_owner_of_the_same_name_is_another_owner(bed: &Bed) {
    let mut owner = bed.create("secrets", secret("owner")).await;
    owner["metadata"]["uid"] = "11111111-2222-3333-4444-555555555555".into();
    bed.create("secrets", owned("child", &[&owner])).await;
    bed.gone(&bed.object("secrets", "child")).await;
    bed.read("secrets", "owner").await;
}

async fn an_object_whose_owner_is_orphaning_stays(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    bed.create("secrets", owned("child", &[&owner])).await;
    let path = bed.object("secrets", "owner");
    bed.delete(path.as_str())
        .query("propagationPolicy", "Orphan")
        .await
        .expect(200);
    bed.gone(&path).await;
    let child = bed.read("secrets", "child").await;
    assert_eq!(child["metadata"].get("ownerReferences"), None);
}

async fn an_owner_in_the_foreground_waits_for_what_blocks_it(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    let mut child = owned("child", &[&owner]);
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    bed.create("secrets", child).await;
    let path = bed.object("secrets", "owner");
    bed.delete(path.as_str())
        .query("propagationPolicy", "Foreground")
        .await
        .expect(200);
    bed.eventually("the child to be deleted", async || {
        let child = bed.read("secrets", "child").await;
        if child["metadata"]["deletionTimestamp"].is_string() {
            Ok(())
        } else {
            Err(child.to_string())
        }
    })
    .await;
    let waiting = bed.get(path.as_str()).await.expect(200);
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let release = json!({"metadata": {"finalizers": null}});
    bed.patch(bed.object("secrets", "child"), MERGE_PATCH, release)
        .await
        .expect(200);
    bed.gone(&path).await;
}

async fn an_owner_in_the_foreground_does_not_wait_for_others(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    let mut child = owned("child", &[&owner]);
    child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = false.into();
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    bed.create("secrets", child).await;
    let path = bed.object("secrets", "owner");
    bed.delete(path.as_str())
        .query("propagationPolicy", "Foreground")
        .await
        .expect(200);
    bed.gone(&path).await;
    bed.read("secrets", "child").await;
}

async fn a_deletion_in_the_foreground_goes_down_the_whole_chain(bed: &Bed) {
    let root = bed.create("secrets", secret("root")).await;
    let middle = bed.create("secrets", owned("middle", &[&root])).await;
    bed.create("secrets", owned("leaf", &[&middle])).await;
    let path = bed.object("secrets", "root");
    bed.delete(path.as_str())
        .query("propagationPolicy", "Foreground")
        .await
        .expect(200);
    bed.gone(&path).await;
    for name in ["middle", "leaf"] {
        bed.get(bed.object("secrets", name))
            .await
            .refused(404, "NotFound");
    }
}

async fn an_object_that_changes_its_owner_follows_the_new_one(bed: &Bed) {
    let first = bed.create("secrets", secret("first")).await;
    let second = bed.create("secrets", secret("second")).await;
    bed.create("secrets", owned("child", &[&first])).await;
    let change = owned("child", &[&second]);
    let change = json!({"metadata": {"ownerReferences": change["metadata"]["ownerReferences"]}});
    bed.patch(bed.object("secrets", "child"), MERGE_PATCH, change)
        .await
        .expect(200);
    bed.delete(bed.object("secrets", "first")).await.expect(200);
    bed.create("secrets", owned("witness", &[&first])).await;
    bed.gone(&bed.object("secrets", "witness")).await;
    bed.read("secrets", "child").await;
    bed.delete(bed.object("secrets", "second")).await.expect(200);
    bed.gone(&bed.object("secrets", "child")).await;
}

async fn an_object_of_the_cluster_cannot_be_owned_from_a_namespace(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    let name = bed.unique("owned");
    let mut role = owned(&name, &[&owner]);
    role["apiVersion"] = "rbac.authorization.k8s.io/v1".into();
    role["kind"] = "ClusterRole".into();
    role.as_object_mut().unwrap().remove("data");
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    bed.post(roles, role).await.expect(201);
    bed.create("secrets", owned("witness", &[&owner])).await;
    bed.delete(bed.object("secrets", "owner")).await.expect(200);
    bed.gone(&bed.object("secrets", "witness")).await;
    // Nobody can tell which namespace is meant, so nobody deletes it.
    bed.get(format!("{roles}/{name}")).await.expect(200);
    bed.delete(format!("{roles}/{name}")).await.expect(200);
}

async fn an_owner_of_the_cluster_owns_in_every_namespace(bed: &Bed) {
    let name = bed.unique("owner");
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let owner = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}});
    let owner = bed.post(roles, owner).await.expect(201);
    bed.create("secrets", owned("child", &[&owner])).await;
    bed.delete(format!("{roles}/{name}")).await.expect(200);
    bed.gone(&bed.object("secrets", "child")).await;
}

async fn an_owner_of_an_unknown_kind_keeps_its_objects(bed: &Bed) {
    let stranger = json!({
        "apiVersion": "example.com/v1", "kind": "Stranger",
        "metadata": {"name": "stranger", "uid": "11111111-2222-3333-4444-555555555555"},
    });
    bed.create("secrets", owned("child", &[&stranger])).await;
    let nobody = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "nobody", "uid": "66666666-2222-3333-4444-555555555555"},
    });
    bed.create("secrets", owned("witness", &[&nobody])).await;
    bed.gone(&bed.object("secrets", "witness")).await;
    bed.read("secrets", "child").await;
}
