use mcrt::reconcile;

#[reconcile]
async fn reconcile() {}

fn main() {}
