#!/bin/sh
# Compiles the core for 64-bit ARM and runs its plain driver there, by an emulator where this is no such processor.
# Usage: tests/campaigns/arm_core.sh    (apt-get install g++-aarch64-linux-gnu qemu-user-static)
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
case $(uname -m) in
    aarch64) compiler=g++ run= ;;
    *) compiler=aarch64-linux-gnu-g++ run=qemu-aarch64-static ;;
esac
for needed in $compiler $run; do
    command -v "$needed" >/dev/null || { echo "$needed is not installed" >&2 && exit 1; }
done
for source in $(ls "$root"/kdsl/core/*.cpp | grep -v -e /module.cpp -e /python_ -e _avx -e _amx); do
    "$compiler" -std=c++20 -O3 -fno-math-errno -c "$source" -o "$build/$(basename "$source").o"
done
"$compiler" -static "$build"/*.o -o "$build/driver" -pthread
for isa in neon portable; do
    KDSL_ISA=$isa $run "$build/driver" 1000 >"$build/out" 2>&1 || { cat "$build/out" && exit 1; }
    echo "$isa: $(grep -c '^ok' "$build/out") of the driver's checks pass"
done
