# shellcheck shell=sh disable=SC2034
# Sourced by every script here: where things are, and how the scripts speak.

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=${PETRI_BUILD:-$root/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
venv=$build/venv
stamps=$build/stamps
export PETRI_BUILD="$build"

say() {
    printf 'petri: %s\n' "$*"
}

die() {
    say "$@" >&2
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "this needs root, and there is no sudo: run as root: $*"
    fi
}

# up_to_date NAME KEY: whether stamp NAME was written for the same KEY.
up_to_date() {
    [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]
}

stamp() {
    mkdir -p "$stamps"
    printf '%s\n' "$2" >"$stamps/$1"
}

# configure TREE CMAKE_ARGUMENT...: CMake keeps what it has found. So it looks again if compilers or libraries are others
# than when TREE was configured.
configure() {
    tree=$1
    shift
    name=configured$(echo "${tree#"$build"}" | tr / -)
    key=$({ printf '%s\n' "$@" && "$root/scripts/deps.sh" found build unit sanitize; } 2>&1 | sha256sum | cut -d' ' -f1)
    up_to_date "$name" "$key" && [ -f "$tree/build.ninja" ] && return
    cmake --fresh -S "$root" -B "$tree" "$@"
    stamp "$name" "$key"
}

# The same commit gives the same package, byte by byte, so what is made has the commit's date. See: SOURCE_DATE_EPOCH.
use_date_of_commit() {
    if [ -z "${SOURCE_DATE_EPOCH:-}" ] && [ -e "$root/.git" ]; then
        SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct || stat -c %Y "$root/CHANGELOG.md")
    elif [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
        SOURCE_DATE_EPOCH=$(stat -c %Y "$root/CHANGELOG.md")
    fi
    export SOURCE_DATE_EPOCH
}
