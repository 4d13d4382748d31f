//! Makes two tests of every behaviour.

/// Lists the behaviours of an area: each becomes the tests `simulated::NAME` and `real::NAME`.
///
/// A behaviour is `async fn NAME(bed: &Bed)`; one that is not listed is dead code, which the compiler reports.
macro_rules! behaviours {
    ($($name:ident),* $(,)?) => {
        mod simulated {
            $(
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    $crate::bed::on_simulator(async |bed| super::$name(bed).await).await;
                }
            )*
        }

        mod real {
            $(
                #[tokio::test]
                async fn $name() {
                    $crate::bed::on_real_server(async |bed| super::$name(bed).await).await;
                }
            )*
        }
    };
}
