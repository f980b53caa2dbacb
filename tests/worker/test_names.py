"""The names of a session, as they are compared between two states."""

import pytest


def names(worker):
    reply = worker.request({"type": "names"}).reply
    assert reply["status"] == "ok"
    return {name: (kind, size) for name, kind, size in reply["names"]}


@pytest.mark.parametrize(
    ("code", "kind", "size"),
    [
        ("x = 7", "int", "7"),
        ("x = 1 << 300", "int", "301 bits"),
        ("x = None", "NoneType", "None"),
        ("x = 'four'", "str", "4 characters"),
        ("x = b'1'", "bytes", "1 byte"),
        ("x = {1: 2}", "dict", "1 item"),
        ("def x(): pass", "function", ""),
        ("import array as x", "module", ""),
        ("class x: shape = (2, 3)\nx = x()", "x", "2 × 3"),
    ],
)
def test_name_has_its_type_and_its_size(worker, code, kind, size):
    worker.execute(code)
    assert names(worker)["x"] == (kind, size)


def test_names_of_the_shell_and_of_nobody_are_left_out(worker):
    worker.execute("_mine = 1; globals()[7] = 1; exit = 3; y = 1; del y")
    found = names(worker)
    assert "_mine" not in found and "In" not in found and "get_ipython" not in found and "y" not in found
    assert found["exit"] == ("int", "3")


def test_object_whose_own_code_fails_has_no_size(worker):
    worker.execute("class Bad:\n @property\n def shape(self): raise SystemExit('no')\nbad = Bad()")
    assert names(worker)["bad"] == ("Bad", "")


def test_names_are_bounded(worker):
    worker.execute("globals().update({f'n{n:05}': n for n in range(3000)}); globals()['x' * 5000] = 1")
    reply = worker.request({"type": "names"}).reply
    assert reply["cut"] is True and len(reply["names"]) == 2000
    assert max(len(name) for name, _, _ in reply["names"]) <= 100
