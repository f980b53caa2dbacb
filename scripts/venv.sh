#!/bin/sh
# The Python side, all inside build/: build/venv for clients and tests, and
# build/site, the packages that petri brings for interpreters without IPython.
#
#   venv.sh GROUP...   GROUP names a file in requirements/; does nothing where
#                      the group is already there. Groups of "optional-" may fail.
#   venv.sh site       makes build/site
#   venv.sh course     makes build/course, what examples/course needs, apart from all others
#   venv.sh optional-kishu  makes build/kishu, what bench/travel.py measures beside, the same
#   venv.sh docs       makes build/docs.venv, what scripts/docs.sh needs, the same
set -eu
. "$(dirname -- "$0")/common.sh"
requirements=$root/scripts/requirements

pip() {
    "$venv/bin/python" -m pip --disable-pip-version-check -q "$@"
}

# The first python3 on the path may lack ensurepip (Debian splits it off); the system's may be absent. What is asked for
# comes first.
base_python() {
    for python in "$@" python3 /usr/bin/python3; do
        if "$python" -c 'import venv, ensurepip' 2>/dev/null; then
            "$python" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    die "no python3 with venv: scripts/deps.sh install python"
}

make_venv() {
    if [ -x "$venv/bin/python" ] && "$venv/bin/python" -c ''; then
        return
    fi
    python=$(base_python "$@")
    say "making a Python environment in $venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
}

# Stamps hold the requirements and the interpreter: when either changes, pip is asked again.
key_of() {
    { cat "$requirements/$1.txt" && "$venv/bin/python" -VV; } | sha256sum | cut -d' ' -f1
}

install_group() {
    key=$(key_of "$1")
    up_to_date "venv-$1" "$key" && return
    say "installing into $venv: $(grep -v '^#' "$requirements/$1.txt" | tr '\n' ' ')"
    case $1 in
    optional-*) pip install -r "$requirements/$1.txt" || say "not to be had here, going on without: $1" ;;
    # Python compiles what it imports of these, which takes less than to compile all of it. A cell can't write there.
    check | clients | docs) pip install --no-compile -r "$requirements/$1.txt" ;;
    *) pip install -r "$requirements/$1.txt" ;;
    esac
    stamp "venv-$1" "$key"
}

# Packages chosen for the oldest interpreter run on the newer ones too, not the other way round.
oldest_python() {
    for python in python3 /usr/bin/python3; do
        "$python" -c 'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null || true
    done | sort -V | head -n 1 | cut -d' ' -f2
}

install_site() {
    python=$(oldest_python)
    key=$({ cat "$requirements/site.txt" "$requirements/checks.txt" && "$python" -VV; } | sha256sum | cut -d' ' -f1)
    up_to_date site "$key" && return
    say "fetching IPython for interpreters that have none, into $build/site"
    rm -rf "$build/site" "$build/site.venv"
    "$python" -m venv "$build/site.venv"
    "$build/site.venv/bin/python" -m pip --disable-pip-version-check -q install --target "$build/site" \
        -r "$requirements/site.txt"
    # In a folder of their own, which no cell of a user's has on its path.
    "$build/site.venv/bin/python" -m pip --disable-pip-version-check -q install --target "$build/site/checks" \
        -r "$requirements/checks.txt"
    rm -rf "$build/site.venv"
    stamp site "$key"
}

# install_apart GROUP VENV [PYTHON]: into an environment that no other group shares.
install_apart() (
    group=$1
    venv=$2
    shift 2
    [ -x "$venv/bin/python" ] || rm -f "$stamps/venv-$group"
    make_venv "$@"
    install_group "$group"
)

for group in "$@"; do
    case $group in
    site) install_site ;;
    course) install_apart course "$build/course" /usr/bin/python3 ;; # that ordinary users can run: one of them grades
    optional-kishu) install_apart optional-kishu "$build/kishu" ;;
    docs) install_apart docs "$build/docs.venv" ;;
    *)
        make_venv
        install_group "$group"
        ;;
    esac
done
