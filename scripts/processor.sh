#!/bin/sh
# processor.sh [CPUINFO]: which of the features the processor has that tests with its registers need, one line.
set -eu

flags=$(sed -n 's/^flags[[:space:]]*: //p' "${1:-/proc/cpuinfo}" | head -n 1)
line=
for feature in pku avx512f amx_tile user_shstk; do
    case " $flags " in
    *" $feature "*) has=yes ;;
    *) has=no ;;
    esac
    line="$line${line:+, }$feature $has"
done
echo "processor: $line"
