//! Answers as tables, which is what `kubectl get` prints.

behaviours![];
