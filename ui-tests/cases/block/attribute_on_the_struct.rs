use mcrt::reconciler;

#[reconciler]
struct Copier;

fn main() {}
