"""
The modules that a cell says it imports: for code that is not to run where it names one that is refused.

What is imported in another way (__import__, exec, a line magic's code) is not
seen, and neither is what is no Python: code that can't be parsed does not run.
"""

import ast
import warnings

# Magics of a whole cell whose rest is Python; the rest of others is not.
_PYTHON_MAGICS = ("capture", "prun", "time", "timeit")

# Of a module's name as it is told; longer ones are cut.
_NAME_BYTES = 255


def find_refused(code, python, refused, transform):
    """
    The first import of a module of the list `refused`, or of one below it: (module, line of the code); or None.
    code: the cell as written; python: what transform(code) has made of it.
    """
    lines_before = 0
    while (tree := _parse(python)) is not None and (body := _magic_body(tree)) is not None:
        lines_before += code.count("\n") + (not code.endswith("\n")) - body.count("\n")
        code = body
        try:
            python = transform(body)
        except Exception:
            return None  # nor does the magic get any further
    for node in _statements(tree):
        for module in _modules(node):
            if any(module == name or module.startswith(name + ".") for name in refused):
                return _cut(module), lines_before + _line_as_written(code, python, node.lineno)
    return None


def _parse(python):
    """The code as a tree; None where it is no Python. What there is to warn of is said when it runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(python)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _magic_body(tree):
    """The rest of a cell that is one of these magics, get_ipython().run_cell_magic(name, line, rest); or None."""
    call = tree.body[0].value if len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or getattr(call.func, "attr", None) != "run_cell_magic" or call.keywords:
        return None
    arguments = [getattr(argument, "value", None) for argument in call.args]
    is_one = len(arguments) == 3 and arguments[0] in _PYTHON_MAGICS and isinstance(arguments[2], str)
    return arguments[2] if is_one else None


def _statements(tree):
    """The import statements, in their order."""
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))] if tree else []
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _modules(node):
    """What a statement names: of `from a.b import c` both a.b and a.b.c, for c may be a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.level == 0:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")


def _line_as_written(code, python, line):
    """The line of the code that became this one: lines go (empty ones at its begin, continued magics), none come."""
    text = python.split("\n")[line - 1].strip()
    lines = code.split("\n")
    return next((i + 1 for i in range(line - 1, len(lines)) if lines[i].rstrip().endswith(text)), line)


def _cut(module):
    return module.encode()[:_NAME_BYTES].decode(errors="ignore")
