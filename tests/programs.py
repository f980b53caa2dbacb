"""Each program that a script calls is on the machine by then: every Debian has it, or a row of scripts/deps.sh.

    programs.py [ROOT]        checks the tree at ROOT (this one); exit 1 if a program has no row, or a target doesn't ask for it
    programs.py --self-test   checks that each mistake is found, and nothing else

A target of the Makefile is a script with all scripts that these name, down to the last one. What they call has to be in
a group that one of them asks for: `deps.sh install GROUP`. What a script looks for itself (`have sudo`, `command -v
help2man`) may be missing. Programs of build/venv are in a file of scripts/requirements/.

What Python and CMake call needs a row of any group: a test gives up by itself if a program is missing.

Scripts are read by tree-sitter-bash, which build/venv has: run it with build/venv/bin/python.
"""

import ast
import contextlib
import dataclasses
import io
import os
import pathlib
import re
import sys
import tempfile

import tree_sitter
import tree_sitter_bash

ROOT = pathlib.Path(__file__).resolve().parents[1]
BASH = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))

# What a machine begins with: what every Debian has, by package. tests/packages/test_checkout.py looks for it in one.
DEBIAN = {
    "apt": "apt-get",
    "coreutils": """basename cat chmod chown chroot cp cut date dirname env fmt head id ln ls mkdir mktemp mv nproc paste
        realpath rm rmdir sha256sum sleep sort stat tail tee timeout touch tr true uname wc""",
    "dash": "sh",
    "dpkg": "dpkg dpkg-deb dpkg-query",
    "findutils": "find xargs",
    "grep": "grep",
    "gzip": "gzip",
    "mawk": "awk",
    "mount": "mount umount",
    "passwd": "useradd userdel",
    "sed": "sed",
    "tar": "tar",
    "util-linux": "flock setpriv unshare",
}
OF_DEBIAN = set(" ".join(DEBIAN.values()).split())
CLONE = {"git", "make"}
BUILTINS = set(""". : [ alias break cd command continue echo eval exec exit export false kill printf pwd read return set shift
    test times trap true type ulimit umask unset wait""".split())
# What runs another program: how many words of its own stand before that, and which of its options take a word.
RUNNERS = {
    "as_root": (0, ""), "env": (0, "-C -u"), "exec": (0, ""), "into_prefix": (0, ""), "nice": (0, "-n"),
    "step": (1, ""), "sudo": (0, ""), "timeout": (1, "-k -s"), "unshare": (0, ""), "xargs": (0, "-P -I -n"),
}  # fmt: skip
# These run inside other systems than the one that the checkout is on.
ELSEWHERE = ("tests/vm/guest.sh", "tests/doctor/guest.sh", "tests/doctor/show.sh", "packaging/debian/p")
BUILT = {".git", "build", "node_modules", os.path.basename(os.environ.get("PETRI_BUILD", ""))}
ALTERNATIVES = {"google-chrome": "chromium"}
CALLS = {"run", "Popen", "call", "check_call", "check_output", "create_subprocess_exec", "which"}
HELP = """\
A program that isn't there on every machine needs a row in scripts/deps.sh, and its target has to ask for the row's group."""


@dataclasses.dataclass
class Script:
    """What a file of shell says: line numbers of the programs that it calls, functions, files that it names, groups."""

    calls: dict
    functions: set
    looked_for: set
    files: set
    groups: set


def nodes(node):
    yield node
    for child in node.children:
        yield from nodes(child)


def text(node):
    return node.text.decode()


def words(command):
    """Of a command: each word as it stands, without quotes; None for one that the shell puts together."""
    for node in command.children:
        if node.type in ("variable_assignment", "comment") or "redirect" in node.type:
            continue
        plain = node.type in ("command_name", "word", "string", "raw_string", "number")
        expanded = any(part.type.endswith(("expansion", "substitution")) for part in nodes(node))
        yield (text(node).strip("'\"") if plain and not expanded else None), node


def program(found):
    """The word that is the program of a command: of what a runner runs, the program that it runs."""
    found = list(found)
    while found and found[0][0] in RUNNERS:
        name = found.pop(0)
        own, with_word = RUNNERS[name[0]]
        yield name
        while found and (own or (found[0][0] or "").startswith("-") or "=" in text(found[0][1])):
            word = found.pop(0)[0] or ""
            if word in with_word.split():
                found = found[1:]
            elif not word.startswith("-") and "=" not in word:
                own -= 1
    yield from found[:1]


def files_named(root, path, source):
    """Files of the tree that a script names, from the root, from scripts/ or from its own folder."""
    here = str(pathlib.PurePath(path).parent)
    for prefix, rest in re.findall(r'\$(root|scripts|here)"?/([\w./-]+)', source):
        yield {"root": "", "scripts": "scripts/", "here": f"{here}/"}[prefix] + rest
    for rest in re.findall(r'\$\(dirname -- "\$0"\)/([\w./-]+)', source):
        yield f"{here}/{rest}"


def read_shell(root, path):
    source = (root / path).read_text(encoding="utf-8")
    tree = BASH.parse(source.encode()).root_node
    script = Script({}, set(), set(), set(), set())
    script.files = {name for name in files_named(root, path, source) if (root / name).is_file()}
    for node in nodes(tree):
        if node.type == "function_definition":
            script.functions.add(text(node.child_by_field_name("name")))
        if node.type != "command":
            continue
        found = list(words(node))
        first = found[0][0] if found else None
        plain = [word for word, _ in found]
        if first == "have" or plain[:2] == ["command", "-v"]:
            script.looked_for |= {word for word in plain[1:] if word}
        elif found and text(found[0][1]).strip('"').endswith("deps.sh"):
            script.groups |= {word for word in plain[2:] if word}
        else:
            script.calls |= {word: at.start_point[0] + 1 for word, at in program(found) if word and not word.isdigit()}
    return script


def is_shell(path):
    try:
        with open(path, encoding="utf-8") as file:
            first = file.readline()
    except UnicodeDecodeError:
        return False
    return bool(re.match(r"#!.*\bsh$|# shellcheck shell=sh", first))


def tracked(root):
    """Files of the tree but for what is built or fetched, which may change meanwhile."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(set(folders) - BUILT)
        for file in sorted(files):
            name = pathlib.Path(folder, file).relative_to(root).as_posix()
            if not name.startswith(ELSEWHERE):
                yield name


def rows(root):
    """Rows of deps.sh: {group: programs}."""
    found = {}
    for group, probe, what, _ in re.findall(r"(?m)^(\w+) +(\w+) +(\S+) +(\S+)$", (root / "scripts/deps.sh").read_text()):
        found.setdefault(group, set()).update([what] if probe == "command" else [])
    return found


def of_venv(root):
    """Names of packages in scripts/requirements/, whose programs have the same name."""
    lines = (line for path in (root / "scripts").glob("requirements/*.txt") for line in path.read_text().splitlines())
    return {match[0] for line in lines if (match := re.match(r"[\w-]+", line))}


def closure(scripts, entry):
    """A script and all that it names, and so on."""
    found, to_read = set(), [entry]
    while to_read:
        path = to_read.pop()
        if path in scripts and path not in found:
            found.add(path)
            to_read += scripts[path].files
    return found


def calls_of_target(scripts, entry, groups_of, there):
    """What a target calls and doesn't ask for."""
    parts = closure(scripts, entry)
    asked = set().union(*(scripts[path].groups for path in parts))
    for group in sorted(asked - set(groups_of)):
        yield f"{entry}: it asks for the group {group}, which scripts/deps.sh hasn't"
    there = there.union(*(groups_of.get(group, set()) for group in asked))
    functions = set().union(*(scripts[path].functions for path in parts))
    for path in sorted(parts):
        for name, line in scripts[path].calls.items():
            if name not in there | functions | scripts[path].looked_for and "/" not in name:
                yield f"{path}:{line}: {entry} asks for no group of scripts/deps.sh that has {name}"


def literal(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def python_calls(path, source):
    """Programs that Python calls, or looks for, by their names."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = ast.unparse(node.func)
        first = node.args[0]
        if isinstance(first, (ast.List, ast.Tuple)) and first.elts:
            first = first.elts[0]
        elif not function.startswith(("subprocess.", "shutil.which")):
            continue
        if function.split(".")[-1] in CALLS and literal(first):
            yield literal(first).split()[0], node.lineno


def cmake_calls(source):
    for number, line in enumerate(source.splitlines(), 1):
        for name in re.findall(r"\bCOMMAND ([a-z][\w.-]*)", line) + re.findall(r"find_program\(\w+ ([\w.-]+)", line):
            yield name, number


def calls_elsewhere(root, known):
    """What Python, CMake and scripts that only these call name, and no row has."""
    for path in tracked(root):
        if path.endswith(".py") or (root / path).read_bytes().startswith(b"#!/usr/bin/env python3"):
            found = python_calls(path, (root / path).read_text(encoding="utf-8"))
        elif path.endswith("CMakeLists.txt"):
            found = cmake_calls((root / path).read_text(encoding="utf-8"))
        elif is_shell(root / path):
            script = read_shell(root, path)
            ours = script.functions | script.looked_for
            found = [] if path.startswith("scripts/") else [call for call in script.calls.items() if call[0] not in ours]
        else:
            continue
        for name, line in found:
            if ALTERNATIVES.get(name, name) not in known and "/" not in name:
                yield f"{path}:{line}: scripts/deps.sh has no row for {name}"


def check(root):
    scripts = {path: read_shell(root, path) for path in tracked(root) if is_shell(root / path)}
    groups = rows(root)
    there = BUILTINS | CLONE | OF_DEBIAN | of_venv(root)
    entries = re.findall(r"(?m)^\t@(scripts/[\w.-]+)", (root / "Makefile").read_text())
    wrong = sorted({line for entry in entries for line in calls_of_target(scripts, entry, groups, there)})
    wrong += calls_elsewhere(root, there.union(*groups.values(), {"petri"}))
    if wrong:
        print(*wrong, HELP, "programs: a program may be missing", sep="\n")
        return 1
    names = set().union(*(script.calls for script in scripts.values()))
    print(f"programs: {len(entries)} targets, {len(scripts)} scripts, {len(names)} names, each there when it is called")
    return 0



TABLE = "table() {\n    cat <<'END'\nbuild  command  cmake  cmake\nvm command qemu qemu\nEND\n}\n"


def tree(script, **others):
    """A tree whose only target is this script."""
    files = {"Makefile": "a:\n\t@scripts/a.sh\n", "scripts/a.sh": script, "scripts/deps.sh": "#!/bin/sh\n" + TABLE}
    return {**files, **{name.replace("__", "/").replace("_", "."): text for name, text in others.items()}}


ASK = 'scripts=x\n"$scripts/deps.sh" install build\n'
CASES = [
    # a tree, a part of what is found ("" where nothing is)
    (tree("#!/bin/sh\ncat x | sed y >z; git log && [ -f z ]\n"), ""),
    (tree("#!/bin/sh\ncmake --build x\n"), "scripts/a.sh:2: scripts/a.sh asks for no group of scripts/deps.sh that has cmake"),
    (tree("#!/bin/sh\n" + ASK + "cmake --build x\n"), ""),
    (tree("#!/bin/sh\n" + ASK + "qemu x\n"), "scripts/a.sh:4: scripts/a.sh asks for no group"),
    (tree("#!/bin/sh\n" + ASK.replace("build", "bulid")), "it asks for the group bulid"),
    (tree("#!/bin/sh\nif x=$(echo $(lsof)); then :; fi\n"), "has lsof"),
    (tree('#!/bin/sh\ntimeout -k 9 "$s" env A=1 strace x\n'), "has strace"),
    (tree("#!/bin/sh\nas_root xargs -P 3 -I {} lsof\n"), "has lsof"),
    (tree('#!/bin/sh\nstep "a name" lsof\n'), "has lsof"),
    (tree("#!/bin/sh\nhave lsof && lsof\ncommand -v strace || exit\nstrace x\n"), ""),
    (tree("#!/bin/sh\nlsof() { :; }\nlsof\n\"$build/strace\" x\nx=qemu y=2 cat\n"), ""),
    (tree("#!/bin/sh\ncat <<E\nlsof\nE\nawk '\nlsof\n'\nchroot x lsof\n"), ""),
    (tree('#!/bin/sh\n. "$(dirname -- "$0")/b.sh"\nb\n', scripts__b_sh="# shellcheck shell=sh\nb() { lsof; }\n"), "scripts/b.sh:2"),
    (tree('#!/bin/sh\n"$root/tests/b.sh"\n', tests__b_sh="#!/bin/sh\ncmake x\n"), "tests/b.sh:2: scripts/a.sh asks for no"),
    (tree("#!/bin/sh\nb\n", scripts__requirements__x_txt="b>=2\n"), ""),
    (tree("#!/bin/sh\n", tests__b_sh="#!/bin/sh\nlsof\n"), "tests/b.sh:2: scripts/deps.sh has no row for lsof"),
    (tree("#!/bin/sh\n", tests__b_sh="#!/bin/sh\nqemu\n"), ""),
    (tree("#!/bin/sh\n", tests__b_py="import subprocess\nsubprocess.run(['lsof', '-n'])"), "tests/b.py:2: scripts/deps.sh has no"),
    (tree("#!/bin/sh\n", tests__b_py="shutil.which('lsof')"), "tests/b.py:1: scripts/deps.sh has no row for lsof"),
    (tree("#!/bin/sh\n", tests__b_py="subprocess.run(['qemu'])\nrun(['x'])\nrun('y')\nsubprocess.run([z])"), "row for x"),
    (tree("#!/bin/sh\n", tests__b_py="subprocess.run(['qemu'])\nrun('y')\nsubprocess.run([z])"), ""),
    (tree("#!/bin/sh\n", CMakeLists_txt="add_custom_command(\n    COMMAND lsof)"), "CMakeLists.txt:2: scripts/deps.sh has no"),
    (tree("#!/bin/sh\n", CMakeLists_txt="find_program(LSOF lsof)"), "CMakeLists.txt:1: scripts/deps.sh has no row"),
]


def found_in(files):
    """What check() returns and prints of a tree of these files: {path: text}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content, encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            failed = check(root)
    return failed, printed.getvalue()


def self_test():
    for files, expected in CASES:
        failed, printed = found_in(files)
        if failed != bool(expected) or expected not in printed:
            print(f"programs: expected {expected or 'nothing'!r} of {files}, got:\n{printed}")
            return 1
    print(f"programs: self-test passed, {len(CASES)} cases")
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    return check(pathlib.Path(arguments[0]) if arguments else ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
