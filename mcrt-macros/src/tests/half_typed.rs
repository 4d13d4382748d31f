//! Code on its way to being right still keeps its item, so that an editor can complete it.

use proc_macro2::TokenStream;

fn tokens(text: &str) -> TokenStream {
    text.parse()
        .expect("brackets are balanced in an editor's token tree")
}

/// The block comes first, with its function in it.
fn starts_with_its_block(expansion: &str) -> bool {
    let block = expansion.split("impl :: mcrt").next().unwrap_or_default();
    block.starts_with("impl TeamTokens {") && block.contains("async fn reconcile")
}

#[test]
fn half_typed_arguments_still_emit_the_struct_and_a_stand_in() {
    let lists = [
        "",
        "for",
        "for =",
        "for = ,",
        "for = Config",
        "for = ConfigMap, ow",
        "for = ConfigMap, owns",
        "for = ConfigMap, owns =",
        "for = ConfigMap, owns(",
        "for = ConfigMap, owns()",
        "for = ConfigMap, owns(Secret, )",
        "for = ConfigMap, owns(Secret, on)",
        "for = ConfigMap, owns(Secret, on = )",
        "for = ConfigMap, error_policy",
        "for = ConfigMap, error_policy(initial = )",
        "for = ConfigMap, uses(Secret, verbs)",
        "for = ConfigMap, provider = mcrt::",
        "for = ConfigMap, provider = mcrt::providers::Kind::new().",
        "for = ConfigMap, clusters",
        "for = ConfigMap, clusters(",
        "for = ConfigMap, clusters(names)",
        "for = ConfigMap, clusters(names())",
        "for = ConfigMap, clusters(except(, \"a\"))",
        "for = ConfigMap, clusters(labels = )",
        "for = ConfigMap, crate =",
        "for = ConfigMap, 7",
        "for = ConfigMap, = 7",
        "= , = ,",
        "for = v1::",
    ];
    for list in lists {
        let closed = if list.ends_with('(') {
            format!("{list})")
        } else {
            list.to_owned()
        };
        let expansion = crate::controller::expand(tokens(&closed), tokens("struct TeamTokens;")).to_string();
        assert!(
            expansion.starts_with("struct TeamTokens ;"),
            "{list}: {expansion}"
        );
        assert!(
            expansion.contains("MulticlusterController for TeamTokens"),
            "{list}: {expansion}"
        );
    }
}

#[test]
fn a_half_typed_body_is_no_mistake_of_the_block() {
    let block = "impl TeamTokens {
        #[reconcile]
        async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {
            let x = config.
        }
    }";
    let expansion = crate::reconciler::expand(TokenStream::new(), tokens(block)).to_string();
    assert!(starts_with_its_block(&expansion), "{expansion}");
    assert!(expansion.contains("Reconciler for TeamTokens"), "{expansion}");
    assert!(!expansion.contains("compile_error"), "{expansion}");
}

#[test]
fn half_typed_members_still_emit_the_block_without_its_markers() {
    let members = [
        "#[index] fn",
        "#[index] fn by_team(",
        "#[map] fn rotated(&self, key: ) {}",
        "#[",
        "pub",
        "fn a() -> {}",
        "const",
    ];
    for member in members {
        let closed = match member {
            "#[index] fn by_team(" => "#[index] fn by_team()",
            "#[" => "#[]",
            other => other,
        };
        let block = format!(
            "impl TeamTokens {{
                #[reconcile]
                async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> Result<Action> {{ todo!() }}
                {closed}
            }}"
        );
        let expansion = crate::reconciler::expand(TokenStream::new(), tokens(&block)).to_string();
        assert!(starts_with_its_block(&expansion), "{member}: {expansion}");
        assert!(
            expansion.contains("Reconciler for TeamTokens"),
            "{member}: {expansion}"
        );
        for marker in ["# [reconcile]", "# [index]", "# [map]"] {
            assert!(!expansion.contains(marker), "{member}: {expansion}");
        }
    }
}

#[test]
fn a_marked_member_that_cannot_be_read_is_reported() {
    let block = "impl TeamTokens {
        #[reconcile]
        async fn reconcile(&self, config: ) -> Result<Action> {}
    }";
    let expansion = crate::reconciler::expand(TokenStream::new(), tokens(block)).to_string();
    assert_eq!(expansion.matches("compile_error").count(), 1, "{expansion}");
    assert!(expansion.contains("BrokenHandlers for TeamTokens"), "{expansion}");
}

#[test]
fn what_is_no_item_at_all_is_handed_back_with_the_error() {
    for item in ["struct", "impl", "fn main() {}", "enum A {}"] {
        let expansion = crate::reconciler::expand(TokenStream::new(), tokens(item)).to_string();
        assert!(
            expansion.starts_with(&tokens(item).to_string()),
            "{item}: {expansion}"
        );
        assert!(expansion.contains("compile_error"), "{item}: {expansion}");
    }
}
