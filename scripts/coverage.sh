#!/bin/sh
# coverage.sh DOOR: builds with coverage counters, runs what `make DOOR` runs, and prints which lines and branches of the
# C code have been run, folder by folder; all of it, file by file, is in build/coverage/report.txt.
#
# Counters lie in mapped files (clang's continuous mode), so that those of the sandbox's processes count, which are
# killed or end by _exit(). What needs the machine as users have it (memory, descriptors) may fail beside them.
set -eu
. "$(dirname -- "$0")/common.sh"

door=$1
tree=$build/coverage
profiles=$tree/profiles/$door

"$root/scripts/deps.sh" install build python unit sanitize coverage
rm -rf "$profiles"
mkdir -p "$profiles"
chmod a+rwx "$profiles" # for kernels of ordinary users
say "make $door, counted; its output: $tree/$door.log"
export LLVM_PROFILE_FILE="$profiles/%c%p.profraw"
PETRI_BUILD=$tree PETRI_PRESET=coverage "$root/scripts/$door.sh" >"$tree/$door.log" 2>&1 ||
    say "some tests failed: see there"
# make test has most unit tests in the build with sanitizers, where nothing is counted.
if [ "$door" = test ]; then
    cmake --build "$tree" >>"$tree/$door.log"
    ctest --test-dir "$tree" -LE live -j "$(nproc)" >>"$tree/$door.log" || say "some unit tests failed: see there"
fi
unset LLVM_PROFILE_FILE

llvm() {
    tool=$1
    shift
    "$(clang -print-prog-name="llvm-$tool")" "$@"
}

# Every program has the library's code, and a target of its own is what counts it.
objects=$(find "$tree/tests" -maxdepth 2 -type f -name 'test_*' -perm -u+x -exec printf '-object %s ' '{}' +)
find "$profiles" -name '*.profraw' >"$profiles/list"
llvm profdata merge -sparse -failure-mode=all -f "$profiles/list" -o "$profiles/merged"
# shellcheck disable=SC2086  # a list of words
llvm cov report "$tree/petri" $objects -instr-profile="$profiles/merged" >"$tree/report.txt"
for folder in base protocol sandbox kernel cli; do
    # shellcheck disable=SC2086
    llvm cov report "$tree/petri" $objects -instr-profile="$profiles/merged" "$root/$folder" | tail -n 1 |
        awk -v folder=$folder '{ printf "%-10s lines %s, branches %s\n", folder, $10, $13 }'
done
