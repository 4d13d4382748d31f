//! Free ports on loopback, never the same twice in one process.

use std::{
    collections::HashSet,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
};

use parking_lot::Mutex;

/// Ports given out by this process: two control planes that start at once must not get the same.
static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);

/// More tries than a machine with ports left can need.
const TRIES: usize = 100;

/// An address nobody listens at now. Another process may take it before it is used: whoever uses it has to
/// look whether that worked, and ask for another one otherwise.
pub(super) fn free() -> io::Result<SocketAddr> {
    for _ in 0..TRIES {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        if GIVEN.lock().get_or_insert_default().insert(address.port()) {
            return Ok(address);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        "no free port on loopback",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_port_is_given_twice() {
        let ports = (0..50).map(|_| free().unwrap().port()).collect::<HashSet<_>>();
        assert_eq!(ports.len(), 50);
    }
}
