#!/bin/sh
# Runs the core's plain driver under the address, undefined-behaviour and thread sanitisers.
# Usage: tests/campaigns/sanitise_core.sh [compiler, default g++]
set -eu
compiler=${1:-g++}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
sources=$(ls "$root"/kdsl/core/*.cpp | grep -v -e /module.cpp -e /python_)
for sanitiser in address,undefined thread; do
    objects=
    for source in $sources; do
        flags=
        case $source in
            *_avx2.cpp) flags="-mavx2 -mfma" ;;
            *_avx512.cpp) flags="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma" ;;
            *_amx.cpp) flags="-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mamx-tile -mamx-int8" ;;
        esac
        case $(uname -m),$source in
            x86_64,*_neon.cpp) continue ;;
            x86_64,*) ;;
            aarch64,*_neon.cpp) ;;
            *) [ -z "$flags" ] || continue ;;
        esac
        object=$build/$(basename "$source").o
        "$compiler" -std=c++20 -O1 -g -fno-math-errno -fsanitize="$sanitiser" -fno-sanitize-recover=all $flags \
            -c "$source" -o "$object"
        objects="$objects $object"
    done
    "$compiler" -fsanitize="$sanitiser" $objects -o "$build/driver" -pthread
    for isa in portable avx2 avx512 amx neon; do
        KDSL_ISA=$isa "$build/driver" >"$build/out" 2>&1 && echo "$sanitiser, $isa: clean" || {
            grep -q 'this processor lacks it' "$build/out" && echo "$sanitiser, $isa: not on this processor" && continue
            cat "$build/out"
            exit 1
        }
    done
done
