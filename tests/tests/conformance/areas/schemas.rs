//! Schemas of defined kinds: validation, defaults, pruning.

behaviours![];
