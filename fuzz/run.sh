#!/usr/bin/env bash
# Builds a fuzz target and runs it: `fuzz/run.sh TARGET [SECONDS]`, 60 seconds if nothing is said. As `cargo fuzz run
# --sanitizer none`, without the program cargo-fuzz and on the stable toolchain: coverage comes from a pass of LLVM that
# `-C` flags turn on. What it learns stays in `corpus/`, what it finds in `artifacts/`.
set -euo pipefail
cd "$(dirname "$0")"
target=$1
seconds=${2:-60}
host=$(rustc -vV | sed -n 's/^host: //p')

flags=(--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
# The versions of the workspace; what it does not have is added.
cp ../Cargo.lock Cargo.lock
# A host that is named keeps the flags from build scripts and macros.
RUSTFLAGS="${flags[*]}" cargo build --release --bin "$target" --target "$host"

mkdir -p "corpus/$target" "artifacts/$target"
built=${CARGO_TARGET_DIR:-target}/$host/release/$target
options=(-max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -max_len=8192 -len_control=10 "-artifact_prefix=artifacts/$target/")
[[ ! -e $target.dict ]] || options+=("-dict=$target.dict")
"$built" "${options[@]}" "corpus/$target" "seeds/$target"
