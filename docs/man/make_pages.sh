#!/bin/sh
# make_pages.sh PROGRAM FOLDER COMMAND...: writes the manual page of each command to FOLDER, petri(1) for the command petri.
# Writes none if there is no help2man.
#
# Everything that --help says comes from there, by help2man; what it doesn't say is in COMMAND.h2m.
# SOURCE_DATE_EPOCH sets the pages' date.
set -eu

program=$1
folder=$2
shift 2
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
PATH=$(CDPATH='' cd -- "$(dirname -- "$program")" && pwd):$PATH # help2man shows the program as it is called
export PATH
command -v help2man >/dev/null || {
    echo "petri: no manual pages: there is no help2man"
    exit 0
}

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
# In the form of man-pages(7).
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%d)
for command; do
    if [ "$command" = petri ]; then
        called=petri
        page=petri
    else
        called="petri $command"
        page="petri-$command"
    fi
    head_of_page >"$made/head"
    help2man --no-info --include="$made/head" --include="$here/$command.h2m" --manual=petri --output="$made/page" "$called"
    # Sections of what help2man takes for parts of one.
    sed -e "/^\.TH/s/\"[A-Z][a-z]* [0-9]*\"/\"$date\"/" \
        -e 's/^\.SS "Exit status:"$/.SH "EXIT STATUS"/' -e 's/^\.SS "Commands:"$/.SH COMMANDS/' "$made/page" >"$made/$page.1"
done
mkdir -p "$folder"
mv "$made"/*.1 "$folder"
