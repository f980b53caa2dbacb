#!/bin/sh
# make_page.sh PROGRAM COMMAND OUT: writes the manual page of a command to OUT, that of petri itself for COMMAND petri.
#
# Everything that --help says comes from there, by help2man; what it doesn't say is in COMMAND.h2m.
# SOURCE_DATE_EPOCH sets the page's date.
set -eu

program=$1
command=$2
out=$3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=$(CDPATH='' cd -- "$(dirname -- "$program")" && pwd):$PATH # help2man shows the program as it is called
export PATH
if [ "$command" = petri ]; then
    called=petri
    page=petri
else
    called="petri $command"
    page="petri-$command"
fi

# NAME is the sentence below the usage, without capital and full stop. help2man takes the first word of the usage for
# the program, and here it is two.
head_of_page() {
    # shellcheck disable=SC2086  # a program and its command
    $called --help | awk -v page="$page" -v called="$called" '
        NR == 1 {
            usage = substr($0, length("Usage: " called " ") + 1)
            gsub(/-/, "\\-", usage)
            gsub(/[A-Z_]+(\.py)?/, "\\fI&\\fR", usage)
            printf "[=SYNOPSIS]\n.B %s\n%s\n\n", called, usage
        }
        NR == 3 {
            sub(/[.]$/, "")
            printf "[NAME]\n%s \\- %s%s\n", page, tolower(substr($0, 1, 1)), substr($0, 2)
        }'
}

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
head_of_page >"$made/head"
help2man --no-info --include="$made/head" --include="$here/$command.h2m" --manual=petri --output="$made/page" "$called"

# The date in the form of man-pages(7), and sections of what help2man takes for parts of one.
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%d)
sed -e "/^\.TH/s/\"[A-Z][a-z]* [0-9]*\"/\"$date\"/" \
    -e 's/^\.SS "Exit status:"$/.SH "EXIT STATUS"/' -e 's/^\.SS "Commands:"$/.SH COMMANDS/' "$made/page" >"$out"
