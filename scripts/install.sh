#!/bin/sh
# install.sh PREFIX: petri into PREFIX/bin and PREFIX/share/petri, its kernelspecs into PREFIX/share/jupyter, and its
# manual pages into PREFIX/share/man if there is help2man to make them.
# PYTHON names the interpreter that cells get: the first python3 on the path where it isn't set.
set -eu
. "$(dirname -- "$0")/common.sh"

prefix=$1

# The nearest folder that is there decides whether root is needed.
writable() {
    folder=$1
    while [ ! -e "$folder" ]; do
        folder=$(dirname "$folder")
    done
    [ -w "$folder" ]
}

into_prefix() {
    if writable "$prefix"; then "$@"; else as_root "$@"; fi
}

"$root/scripts/build.sh"
cmake --build "$build" --target man
say "installing into $prefix"
into_prefix cmake --install "$build" --prefix "$prefix"
into_prefix "$prefix/bin/petri" install --prefix "$prefix" --python "${PYTHON:-python3}"
