//! What happens to servers and their objects, drawn from a seed.

use mcrt_sim::Server;
use mcrt_tests::{
    random::Random,
    simulated::{config, with_data},
};

/// Changes one of a few objects of a server.
pub(crate) fn change(server: &Server, random: &mut Random, step: u64) {
    let object = format!("object-{}", random.below(20));
    // What cannot be done is not done: there is no such object, or there is one already.
    match random.below(10) {
        0..3 => drop(server.create(config(&object))),
        3..6 => drop(server.replace(with_data(config(&object), "step", &step.to_string()))),
        6..8 => drop(server.delete("v1", "ConfigMap", Some("default"), &object)),
        _ => {
            drop(server.delete("v1", "ConfigMap", Some("default"), &object));
            drop(server.create(config(&object)));
        }
    }
}

/// Does something to a server as a whole.
pub(crate) fn disturb(server: &Server, random: &mut Random) {
    match random.below(8) {
        0 => server.disconnect_watches(),
        1 => server.expire_watches(),
        2 => server.compact(),
        3 => {
            server.compact();
            server.disconnect_watches();
        }
        4 => server.restart(),
        5 => server.partition(),
        _ => server.heal(),
    }
}
