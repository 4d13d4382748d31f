//! Every way in which a file may be wrong for a while.
