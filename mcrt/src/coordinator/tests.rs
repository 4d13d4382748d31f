//! Several coordinators over one host, in virtual time.
