# shellcheck shell=sh
# Sourced by what runs inside a virtual machine: prints what petri doctor says as golden.py reads it.

# show NAME FOLDER COMMAND...: in the situation of that name; the command is how petri is started there, up to its name.
show() {
    name=$1
    folder=$2
    shift 2
    for option in "" --json; do
        echo "petri-doctor: begin $name ${option:---text}"
        # shellcheck disable=SC2086  # no word at all where it is empty
        (cd "$folder" && "$@" doctor --python /usr/bin/python3 $option) 2>&1
        echo "petri-doctor: exit $?"
    done
}
