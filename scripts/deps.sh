#!/bin/sh
# Finds what is missing of the machine's side and installs it with apt.
#
#   deps.sh check GROUP...    names what is missing; exit 1 where something is
#   deps.sh install GROUP...  installs what is missing; does nothing where all is there
#   deps.sh found GROUP...    says which program and which version stands for each command and library
#
# Groups: build (petri itself), python (a venv for clients), unit (the cmocka tests), sanitize (clang, with libFuzzer),
# coverage (what reads its counters), browser (tests/clients: node and a browser), vm (make test-vm), container
# (tests/e2e/test_container*.py), wheel (scripts/wheel.sh), deb (scripts/deb.sh), docs (scripts/docs.sh),
# packages (tests/packages).
set -eu
. "$(dirname -- "$0")/common.sh"

# group, how to look, what to look for, Debian's package
table() {
    cat <<'END'
build  command  cc          gcc
build  header   stdio.h     libc6-dev
build  header   linux/seccomp.h linux-libc-dev
build  command  cmake       cmake
build  command  ctest       cmake
build  command  ninja       ninja-build
build  command  pkg-config  pkg-config
build  library  libzmq      libzmq3-dev
build  library  jansson     libjansson-dev
build  library  libsodium   libsodium-dev
build  library  libseccomp  libseccomp-dev
build  library  sqlite3     libsqlite3-dev
build  library  libpcre2-8  libpcre2-dev
python command  python3     python3
python module   ensurepip   python3-venv
unit   library  cmocka      libcmocka-dev
unit   command  nm          binutils
wheel  command  g++         g++
wheel  command  dpkg-source dpkg-dev
wheel  command  patch       patch
wheel  command  help2man    help2man
deb    command  cpack       cmake
deb    command  help2man    help2man
docs   command  help2man    help2man
docs   command  mandoc      mandoc
deb    command  dpkg-shlibdeps dpkg-dev
deb    command  file        file
packages command lintian    lintian
packages command man        man-db
packages command mandoc     mandoc
packages command mmdebstrap mmdebstrap
packages file   /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
packages command podman     podman
packages command runc       runc
sanitize command clang      clang
sanitize libfuzzer clang    libclang-rt-dev
coverage command llvm-cov   llvm
container command podman    podman
container command runc      runc
container command mmdebstrap mmdebstrap
container file    /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
browser command node        nodejs
browser command npm         npm
browser command chromium    chromium
browser file    /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf fonts-dejavu-core
vm     command  qemu-system-x86_64 qemu-system-x86
vm     command  mmdebstrap  mmdebstrap
vm     file     /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
vm     command  mkfs.ext4   e2fsprogs
END
}

# A probe answers whether something is there; one for each word of the table's second column.
has_command() {
    have "$1"
}

has_file() {
    [ -e "$1" ]
}

has_header() {
    echo "#include <$1>" | cc -E -xc - >/dev/null 2>&1
}

has_library() {
    have pkg-config && pkg-config --exists "$1"
}

has_module() {
    for python in python3 /usr/bin/python3; do
        "$python" -c "import venv, $1" 2>/dev/null && return
    done
    return 1
}

has_libfuzzer() {
    program=$(mktemp)
    status=0
    echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n > 9; }' |
        "$1" -fsanitize=fuzzer,address -o "$program" -xc - 2>/dev/null || status=1
    rm -f "$program"
    return $status
}

wanted() {
    case " $groups " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

missing() {
    table | while read -r group probe what package; do
        if wanted "$group" && ! "has_$probe" "$what"; then
            echo "$package"
        fi
    done
}

found() {
    table | while read -r group probe what package; do
        wanted "$group" || continue
        case $probe in
        command) echo "$what $(realpath "$(command -v "$what")")" ;;
        library) echo "$what $(pkg-config --modversion "$what")" ;;
        esac
    done
}

# The sanitizers' runtime is named after clang's version, known only once clang is there.
clang_runtime() {
    version=$(clang -dumpversion | cut -d. -f1)
    echo "libclang-rt-$version-dev"
}

apt_install() {
    say "installing with apt: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o DPkg::Lock::Timeout=600 --no-install-recommends "$@"
}

install_missing() {
    packages=$(missing)
    [ -n "$packages" ] || return 0
    have apt-get || die "no apt-get here; please install, by your system's names: $(echo "$packages" | tr '\n' ' ')"
    say "some things that petri needs are missing on this machine; this happens once"
    as_root apt-get update -q
    first=$(echo "$packages" | grep -vx libclang-rt-dev || true)
    # shellcheck disable=SC2086  # a list of words
    [ -z "$first" ] || apt_install $first
    wanted sanitize || return 0
    has_libfuzzer clang || apt_install "$(clang_runtime)"
}

check() {
    packages=$(missing)
    [ -z "$packages" ] && return 0
    say "missing (Debian's names): $(echo "$packages" | tr '\n' ' ')"
    say "install them, or let this do it: scripts/deps.sh install $groups"
    return 1
}

command=${1:-}
[ $# -eq 0 ] || shift
groups=$*
case $command in
check) check ;;
install) install_missing ;;
found) found ;;
*) die "usage: deps.sh check|install|found GROUP..." ;;
esac
