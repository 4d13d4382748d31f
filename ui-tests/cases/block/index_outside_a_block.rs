use k8s_openapi::api::core::v1::ConfigMap;
use mcrt::index;

#[index]
fn by_team(config: &ConfigMap) -> Option<String> {
    config.metadata.name.clone()
}

fn main() {}
