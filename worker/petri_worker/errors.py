"""An exception as Jupyter names it, whatever its class does when it is asked for its text."""


def describe(error, traceback=None, kind=None):
    """{ename, evalue, traceback}; the traceback is one line where none is given."""
    name = (kind or type(error)).__name__
    try:
        text = str(error)
    except Exception as second:
        text = f"<{type(second).__name__} while its text was made>"
    lines = [f"{name}: {text}"] if traceback is None else [str(line) for line in traceback]
    return {"ename": name, "evalue": text, "traceback": lines}
