#!/bin/sh
# wheel.sh: build/wheel/petri_kernel-VERSION-py3-none-manylinux_*.whl and the source distribution beside it.
#
# The libraries are Debian's, and auditwheel puts them into the wheel. Only libzmq is built here, from the sources of
# Debian's package: Debian's own brings Kerberos and two multicast protocols with it, which petri has no use for, and
# needs a newer libstdc++ than some systems have on which petri runs. It is built anew when build/wheel is removed, or
# with another release of Debian: then the wheel is for systems with that release's glibc or a newer one.
set -eu
. "$(dirname -- "$0")/common.sh"

out=$build/wheel
work=$out/work
libzmq=$work/libzmq

# apt's settings for sources, whatever the machine's own say about them.
apt_sources() {
    mkdir -p "$work/apt/parts" "$work/apt/lists/partial"
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -f "$list" ] || continue
        sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb /deb-src /' "$list" >"$work/apt/parts/$(basename "$list")"
    done
    [ ! -e "$work/apt/parts/sources.list" ] || mv "$work/apt/parts/sources.list" "$work/apt/parts/machine.list"
}

apt_get() {
    apt-get -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/apt/parts" \
        -o "Dir::State::Lists=$work/apt/lists" -o APT::Sandbox::User=root "$@"
}

fetch_libzmq() {
    apt_sources && apt_get update && (cd "$work" && apt_get source zeromq3)
}

build_libzmq() {
    say "building libzmq for the wheel; this happens once"
    rm -rf "$work/apt" "$work"/zeromq3* "$libzmq"
    fetch_libzmq >"$work/libzmq.log" 2>&1 || return
    cmake -S "$work"/zeromq3-*/ -B "$work/zeromq3-build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_INSTALL_PREFIX="$libzmq" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_STATIC=OFF -DBUILD_TESTS=OFF \
        -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DENABLE_CURVE=ON -DWITH_LIBSODIUM=ON -DWITH_LIBBSD=OFF \
        -DZMQ_CV_IMPL=pthreads \
        -DCMAKE_CXX_FLAGS="-fstack-protector-strong -D_FORTIFY_SOURCE=2" \
        -DCMAKE_SHARED_LINKER_FLAGS="-Wl,-z,relro,-z,now,--strip-all" >>"$work/libzmq.log" 2>&1 || return
    cmake --build "$work/zeromq3-build" --target install >>"$work/libzmq.log" 2>&1 || return
    # pkg-config reads words, and the checkout's path may have a blank.
    # shellcheck disable=SC2016
    sed -i -e 's/-L${libdir}/-L"${libdir}"/' -e 's/-I${includedir}/-I"${includedir}"/' "$libzmq/lib/pkgconfig/libzmq.pc"
}

# What the libraries' licences ask for; Debian's packages of them have it.
collect_licenses() {
    rm -rf "$work/licenses"
    mkdir -p "$work/licenses"
    for library in jansson libpcre2-8 libseccomp libsodium sqlite3; do
        file=$(pkg-config --variable=libdir "$library")/lib${library#lib}.so
        package=$(dpkg-query -S "$(basename "$(realpath "$file")")" | sed -n 's/:.*//p' | head -n 1)
        cp "/usr/share/doc/$package/copyright" "$work/licenses/$library" || return
    done
    cp "$work"/zeromq3-*/debian/copyright "$work/licenses/libzmq"
}

# All but what is built: the builder leaves out what .gitignore names, and would go through all of it.
copy_sources() {
    rm -rf "$work/source" && mkdir -p "$work/source" &&
        tar -C "$root" --exclude=./build --exclude="./${build#"$root/"}" --exclude=./.git -c -f "$work/source.tar" . &&
        tar -x -f "$work/source.tar" -C "$work/source"
}

# In two steps, as another would: the wheel is built from the source distribution.
build_wheel() {
    copy_sources && collect_licenses || return
    PKG_CONFIG_PATH=$libzmq/lib/pkgconfig "$venv/bin/python" -m build -o "$work/dist" \
        -C "cmake.define.PETRI_LICENSES=$work/licenses" "$work/source" || return
    LD_LIBRARY_PATH=$libzmq/lib PATH=$venv/bin:$PATH auditwheel repair -w "$out" "$work"/dist/*.whl
}

"$root/scripts/deps.sh" install build python wheel
"$root/scripts/venv.sh" wheel
mkdir -p "$work"
key=$(cat "$0" /etc/os-release | sha256sum | cut -d' ' -f1)
if ! up_to_date wheel "$key" || [ ! -d "$libzmq" ]; then
    build_libzmq || { tail -n 5 "$work/libzmq.log" >&2; die "libzmq could not be built: $work/libzmq.log"; }
    stamp wheel "$key"
fi

use_date_of_commit
rm -rf "$work/dist" "$out"/petri_kernel-*
build_wheel >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; die "the wheel could not be built: $work/build.log"; }
cp "$work"/dist/*.tar.gz "$out"
say "made:"
# shellcheck disable=SC2012
(cd "$out" && ls -l petri_kernel-* | awk '{ printf "  %s  %.1f MB\n", $NF, $5 / 1e6 }')
