"""What a session should hold after its good cells: variables, lists and arrays, files in three places, open files."""

import copy
import hashlib
import json

AREAS = ("folder", "tmp", "home")
NAMES = ("a", "b", "c", "d")
TEXT_BYTES = 3000

LOOK = """
print(_look())
"""

SWEEP = """
for _area in _areas.values():
    shutil.rmtree(_area)
"""

# The places, and a look at all there is: digests, as some of it is long.
PLANT = """
import hashlib, json, os, shutil
_areas = {"folder": os.path.abspath("model"),
          "tmp": os.environ.get("MODEL_TMP", "/tmp") + "/model",
          "home": os.environ.get("MODEL_HOME", os.path.expanduser("~")) + "/model"}
for _area in _areas.values():
    os.mkdir(_area)
variables, items, opened = {}, [], {}
array = bytearray(1 << 16)
def _digest(data):
    return hashlib.sha256(data).hexdigest()[:16]
def _tree(top):
    found = {}
    for folder, folders, files in os.walk(top):
        for name in folders:
            found[os.path.relpath(os.path.join(folder, name), top)] = None
        for name in files:
            with open(os.path.join(folder, name), "rb") as file:
                found[os.path.relpath(os.path.join(folder, name), top)] = _digest(file.read())
    return found
def _look():
    seen = {"variables": variables, "items": items, "array": _digest(bytes(array)),
            "opened": {name: [file.tell(), file.read(5).decode()] for name, file in opened.items()}}
    return json.dumps([seen, {name: _tree(area) for name, area in _areas.items()}], sort_keys=True)
"""
WITH_NUMPY = """
import numpy
array = numpy.zeros(1 << 16, dtype=numpy.uint8)
"""


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


class State:
    """The model."""

    def __init__(self, has_numpy):
        self.has_numpy = has_numpy
        self.variables = {}
        self.items = []
        self.array = bytearray(1 << 16)
        self.files = {area: {} for area in AREAS}  # path: bytes, or None for a folder
        self.opened = {}  # name: [content's bytes, offset]

    def plant(self):
        return PLANT + (WITH_NUMPY if self.has_numpy else "")

    def expected(self):
        seen = {
            "variables": self.variables,
            "items": self.items,
            "array": digest(bytes(self.array)),
            "opened": {
                name: [offset, content[offset : offset + 5].decode()] for name, (content, offset) in self.opened.items()
            },
        }
        trees = {
            area: {path: None if data is None else digest(data) for path, data in files.items()}
            for area, files in self.files.items()
        }
        return json.dumps([seen, trees], sort_keys=True) + "\n"

    def looked(self):
        """A look reads on in each open file, and commits: the offsets stay where they are."""
        for entry in self.opened.values():
            entry[1] = min(len(entry[0]), entry[1] + 5)


# Each operation: changes the state, and returns the code that does the same.


def set_variable(state, dice):
    name, value = dice.choice(NAMES), dice.randrange(1000)
    state.variables[name] = value
    return f"variables[{name!r}] = {value}"


def delete_variable(state, dice):
    name = dice.choice(NAMES)
    state.variables.pop(name, None)
    return f"variables.pop({name!r}, None)"


def change_items(state, dice):
    value = dice.randrange(1000)
    state.items.append(value)
    if len(state.items) > 20:
        del state.items[:10]
    state.items.sort(reverse=bool(value & 1))
    return (
        f"items.append({value})\nif len(items) > 20: del items[:10]\nitems.sort(reverse=bool({value} & 1))"
    )


def change_array(state, dice):
    start, value = dice.randrange(1 << 15), dice.randrange(256)
    state.array[start : start + 20000] = bytes([value]) * 20000
    if state.has_numpy:
        return f"array[{start}:{start} + 20000] = {value}"
    return f"array[{start}:{start} + 20000] = bytes([{value}]) * 20000"


def _target(state, dice):
    area = dice.choice(AREAS)
    return area, state.files[area], dice.choice(NAMES)


def _path(area, path):
    return f"os.path.join(_areas[{area!r}], {path!r})"


def _is_file(files, path):
    return isinstance(files.get(path), bytes)


def _folders(files):
    return ["", *(path + "/" for path, data in files.items() if data is None)]


def write_file(state, dice):
    area, files, name = _target(state, dice)
    path = dice.choice(_folders(files)) + name
    if path in files and files[path] is None:
        return "pass"
    data = dice.choice("abcdef").encode() * dice.randrange(TEXT_BYTES)
    mode = dice.choice(("wb", "ab"))
    files[path] = data if mode == "wb" else (files.get(path) or b"") + data
    return f"with open({_path(area, path)}, {mode!r}) as _file: _file.write({data[:1]!r} * {len(data)})"


def _some_file(state, dice):
    area, files, _ = _target(state, dice)
    # Files that are open stay as they are: what becomes of those is tests/sandbox's business.
    found = sorted(path for path in files if _is_file(files, path) and not path.startswith("open-"))
    return area, files, dice.choice(found) if found else None


def truncate_file(state, dice):
    area, files, path = _some_file(state, dice)
    if path is None:
        return "pass"
    size = dice.randrange(TEXT_BYTES)
    files[path] = files[path][:size].ljust(size, b"\0")
    return f"os.truncate({_path(area, path)}, {size})"


def remove_file(state, dice):
    area, files, path = _some_file(state, dice)
    if path is None:
        return "pass"
    del files[path]
    return f"os.remove({_path(area, path)})"


def rename_file(state, dice):
    area, files, path = _some_file(state, dice)
    name = dice.choice(NAMES)
    if path is None or (name in files and files[name] is None):
        return "pass"
    files[name] = files.pop(path)
    return f"os.replace({_path(area, path)}, {_path(area, name)})"


def make_folder(state, dice):
    area, files, name = _target(state, dice)
    path = dice.choice(_folders(files)) + "dir-" + name
    if path in files or path.count("/") > 3:
        return "pass"
    files[path] = None
    return f"os.mkdir({_path(area, path)})"


def remove_tree(state, dice):
    area, files, _ = _target(state, dice)
    found = sorted(path for path, data in files.items() if data is None)
    if not found:
        return "pass"
    path = dice.choice(found)
    for inner in [other for other in files if other == path or other.startswith(path + "/")]:
        del files[inner]
    return f"shutil.rmtree({_path(area, path)})"


def replace_folder(state, dice):
    """A folder goes and comes back at once: what was in it must not."""
    code = remove_tree(state, dice)
    if code == "pass":
        return code
    area = next(area for area in AREAS if f"_areas['{area}']" in code)
    path = code.split("], '")[1].split("')")[0]
    state.files[area][path] = None
    return f"{code}\nos.mkdir({_path(area, path)})"


def open_file(state, dice):
    """Open for reading; nobody writes to it, as whatever is written later is another file."""
    name = dice.choice(NAMES)
    length = dice.randrange(10, 3000)
    content = (name * length).encode()
    state.opened[name] = [content, 0]
    path = _path("tmp", "open-" + name)
    state.files["tmp"]["open-" + name] = content
    return (
        f"if {name!r} in opened: opened[{name!r}].close()\n"
        f"with open({path}, 'wb') as _file: _file.write({name.encode()!r} * {length})\n"
        f"opened[{name!r}] = open({path}, 'rb', buffering=0)"
    )


def seek_file(state, dice):
    if not state.opened:
        return "pass"
    name = dice.choice(sorted(state.opened))
    offset = dice.randrange(len(state.opened[name][0]))
    state.opened[name][1] = offset
    return f"opened[{name!r}].seek({offset})"


def close_file(state, dice):
    if not state.opened:
        return "pass"
    name = dice.choice(sorted(state.opened))
    del state.opened[name]
    return f"opened.pop({name!r}).close()"


OPERATIONS = [
    set_variable,
    delete_variable,
    change_items,
    change_array,
    write_file,
    write_file,
    truncate_file,
    remove_file,
    rename_file,
    make_folder,
    remove_tree,
    replace_folder,
    open_file,
    seek_file,
    close_file,
]


def random_cell(state, dice):
    """Code of a few operations, and the state after them; state itself stays as it is."""
    after = copy.deepcopy(state)
    lines = [dice.choice(OPERATIONS)(after, dice) for _ in range(dice.randrange(1, 7))]
    return "\n".join(lines), after
