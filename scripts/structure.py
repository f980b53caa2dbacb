"""Prints how the C code is put together: folders, arrows between modules, circles, and sizes.

usage: structure.py [ROOT] [--build BUILD_DIR]

A module is x.c with x.h, and x_insides.h with its source where x and its other parts alone include that. What may
include what is asked of tests/layers; with --build, so is what the objects of a build use of each other. A function is as long as what stands between its braces, as clang-tidy counts it.
"""

import argparse
import collections
import importlib.machinery
import importlib.util
import pathlib
import re
import statistics
import sys

FILE_LINES, FUNCTION_LINES = 500, 60
HEADERS = 12  # how many of those that most sources get
SIGNATURE = re.compile(r"[A-Za-z_].*\)\s*\{$")
HERE = pathlib.Path(__file__).resolve().parent.parent


def load_layers():
    """tests/layers as a module: it is a program, without the name of one."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("layers", str(HERE / "tests" / "layers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("layers", loader))
    loader.exec_module(module)
    return module


layers = load_layers()


def headers_reached(included):
    """For each source, all headers that it gets, also by way of others."""
    reached = {}
    for source in (path for path in included if path.endswith(".c")):
        seen, ahead = set(), [source]
        while ahead:
            new = included.get(ahead.pop(), set()) - seen
            seen |= new
            ahead += new
        reached[source] = seen
    return reached


def upward(rooms, included):
    """Arrows that the table of rooms doesn't allow."""
    for path, headers in sorted(included.items()):
        room = layers.room_of(path)
        allowed = rooms.expand(room) if rooms.is_known(room) else {room}
        for header in sorted(headers - allowed):
            if layers.room_of(header) not in allowed:
                yield f"{path} -> {header}"


def function_lengths(lines):
    """The functions of a file as .clang-format has them: their first lines, and how many follow up to the brace."""
    head, began = "", None
    for number, line in enumerate(lines, 1):
        if began is not None:
            if line == "}":
                yield head.split("(")[0].split()[-1].lstrip("*"), number - began
                head, began = "", None
            continue
        head = head + " " + line.strip() if line[:1].isspace() and head else line
        if SIGNATURE.match(head):
            began = number
        elif not line or line[-1] in ";}{":
            head = ""


def comment_lines(lines):
    """How many lines have nothing but a comment."""
    count, inside = 0, False
    for line in map(str.strip, lines):
        inside = inside or line.startswith("/*")
        count += inside or line.startswith("//")
        inside = inside and "*/" not in line
    return count


class Sizes:
    """What is counted line by line."""

    def __init__(self, root):
        self.files, self.functions = {}, []
        self.comments = self.written = 0
        for path in layers.all_sources(root):
            lines = path.read_text(encoding="utf-8").splitlines()
            name = str(path.relative_to(root))
            self.files[name] = len(lines)
            self.comments += comment_lines(lines)
            self.written += sum(1 for line in lines if line.strip())
            self.functions += [(length, f"{name}: {function}") for function, length in function_lengths(lines)]
        self.functions.sort(reverse=True)


def print_list(title, items):
    print(f"{title}: {len(items)}")
    for item in items:
        print(f"  {item}")


def print_folders(sizes):
    print("folder                   .c    .h    lines")
    rows = collections.defaultdict(collections.Counter)
    for name, lines in sizes.files.items():
        rows[layers.room_of(name)].update({name[-2:]: 1, "lines": lines})
    for folder, row in [*sorted(rows.items()), ("all", sum(rows.values(), collections.Counter()))]:
        print(f"{folder:<20} {row['.c']:>6}{row['.h']:>6}{row['lines']:>9}")
    print()


def print_arrows(title, arrows):
    """How many arrows, and how many of them lead from folder to folder."""
    between = collections.Counter()
    for one, others in arrows.items():
        between.update((layers.room_of(one), layers.room_of(other)) for other in others)
    print(f"{title}: {sum(between.values())}")
    for (one, other), count in sorted(between.items()):
        print(f"  {one} -> {other}: {count}" if one != other else f"  within {one}: {count}")


def print_circles(title, arrows):
    print_list(title, [f"{len(circle)}: {' '.join(circle)}" for circle in layers.circles(arrows)])


def print_sizes(sizes):
    lengths = sorted(length for length, _ in sizes.functions)
    files = [f"{lines} {name}" for name, lines in sorted(sizes.files.items()) if lines > FILE_LINES]
    print_list(f"files over {FILE_LINES} lines", files)
    print(
        f"functions: {len(lengths)}, median {statistics.median(lengths):g} lines, "
        f"p90 {lengths[len(lengths) * 9 // 10]}, max {lengths[-1]} ({sizes.functions[0][1]})"
    )
    long = [f"{length} {name}" for length, name in sizes.functions if length > FUNCTION_LINES]
    print_list(f"functions over {FUNCTION_LINES} lines", long)
    print(f"comment lines: {sizes.comments / sizes.written:.1%} of those that aren't empty\n")


def print_fan_in(included):
    """How many sources are compiled anew when a header changes."""
    reached = headers_reached(included)
    fan_in = collections.Counter(header for headers in reached.values() for header in headers)
    direct = collections.Counter(header for path in reached for header in included[path])
    print(f"headers that most of {len(reached)} sources get: of them by their own include")
    for place, (header, count) in enumerate(fan_in.most_common()):
        if place < HEADERS or header.endswith("/kernel.h"):
            print(f"  {header}: {count}, {direct[header]}")


def print_build(build, root, rooms):
    objects = layers.objects_in(build, root)
    if not objects:
        sys.exit(f"structure.py: nothing of {root} is built in {build}")
    arrows = layers.arrows_between(objects)
    print()
    print_arrows("arrows between objects, by symbols", arrows)
    print_list("upward arrows, by symbols", list(layers.upward_symbols(rooms, arrows)))
    print_circles("circles of objects, by symbols", arrows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=HERE)
    parser.add_argument("--build", type=pathlib.Path, help="a build of it, for what the objects use of each other")
    options = parser.parse_args()
    included = layers.included_headers(options.root)
    rooms = layers.Rooms(layers.ROOMS, options.root)
    sizes = Sizes(options.root)
    print_folders(sizes)
    print_arrows("arrows between modules, by includes", layers.module_arrows(included))
    print_list("upward arrows, by includes", list(upward(rooms, included)))
    print_circles("circles of modules, by includes", layers.module_arrows(included))
    print()
    print_sizes(sizes)
    print_fan_in(included)
    if options.build:
        print_build(options.build, options.root, rooms)


if __name__ == "__main__":
    main()
