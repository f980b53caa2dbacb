"""Branches, cells of the session and restorations in random order, some at once, against a model of what each state has."""

import random

import pytest

from branches import answer_next, begin, finish, timeline, wait_for_prints

BEGIN = """
import mmap, os, tempfile, threading, queue, sqlite3
x = []; m = mmap.mmap(-1, 4096); t = tempfile.TemporaryFile(buffering=0); f = open('open', 'w+', buffering=1); r, w = os.pipe()
asked, told = queue.Queue(), queue.Queue()
def serve():
    seen = []
    while True: seen.append(asked.get()); told.put(list(seen))
threading.Thread(target=serve, daemon=True).start()
c = sqlite3.connect(':memory:', check_same_thread=False); _ = c.execute('create table t (x)')
with open('mapped', 'wb') as file: file.write(bytes(4096))
with open('mapped', 'r+b') as file: p = mmap.mmap(file.fileno(), 4096)
def add(n):
    x.append(n); m[n] = p[n] = n; t.write(bytes([n])); f.write(f'{n}\\n'); os.write(w, bytes([n])); asked.put(n); told.get(timeout=60)
    c.execute('insert into t values (?)', (n,)); open(f'file-{n}', 'w').close(); os.environ['LAST'] = str(n)
    if os.path.exists('host'): os.unlink('host')
def look():
    n = len(x); asked.put(-1)
    seen = [[i for i in range(1, 256) if m[i]], [i for i in range(1, 256) if p[i]]]
    seen += [[int(name[5:]) for name in os.listdir() if name.startswith('file-')], [row[0] for row in c.execute('select x from t')]]
    same = [sorted(one) == sorted(x) for one in seen]
    same += [list(os.pread(t.fileno(), 999, 0)) == x, [int(i) for i in open('open').read().split()] == x]
    same += [n == 0 or list(os.read(r, 999)) == x, told.get(timeout=60) == x + [-1], os.environ.get('LAST') == (str(x[-1]) if x else None)]
    same += [os.path.exists('host') == (not x), open('mapped', 'rb').read() == p[:]]
    return x if all(same) else (x, same)
"""


class Model:
    """A session, what each of its states has, and where it is."""

    def __init__(self, kernel, seed):
        self.kernel, self.random = kernel, random.Random(seed)
        kernel.good("%limits history=20")
        self.at = kernel.ask(BEGIN, {}).report["image"]
        self.has = {self.at: []}
        self.n = 0
        self.running = None  # a branch that waits: its request, messages, and what it leaves

    def there(self):
        """The states that are not gone."""
        return [image["image"] for image in timeline(self.kernel)["images"] if image["kept"] and image["image"] in self.has]

    def next(self):
        self.n += 1
        return self.n

    def run(self):
        n = self.next()
        cell = self.kernel.ask(f"add({n})", {})
        assert cell.ok, str(cell)
        self.has[cell.report["image"]] = [*self.has[self.at], n]
        self.at = cell.report["image"]

    def crash(self):
        assert self.kernel.ask("add(255); os._exit(1)", {}).ename == "CellCrashed"
        origin = {"from": self.random.choice(self.there()), "commit": "branch"}
        assert self.kernel.ask("add(255); os._exit(1)", origin).report["image"] is None

    def branch(self):
        n, origin = self.next(), self.random.choice(self.there())
        cell = self.kernel.ask(f"add({n})", {"from": origin, "commit": "branch"})
        assert cell.ok, str(cell)
        self.has[cell.report["image"]] = [*self.has[origin], n]

    def begin(self):
        """Or ends the one that waits."""
        if self.running:
            request, messages, leaves = self.running
            assert answer_next(self.kernel, "") == request
            (cell,) = finish(self.kernel, messages, request)
            assert cell.ok, str(cell)
            self.has[cell.report["image"]] = leaves
            self.running = None
            return
        n, m, origin = self.next(), self.next(), self.random.choice(self.there())
        code = f"add({n}); print('waits', flush=True); input(); add({m})"
        request = begin(self.kernel, code, **{"from": origin, "commit": "branch"})
        self.running = request, wait_for_prints(self.kernel, request), [*self.has[origin], n, m]

    def go(self):
        self.at = self.random.choice(self.there())
        assert self.kernel.control("petri_restore_request", {"to": self.at})["status"] == "ok"

    def look(self):
        cell = self.kernel.ask("str(look())", {"commit": False})
        assert cell.result == repr(str(self.has[self.at])), str(cell)

    def look_beside(self):
        origin = self.random.choice(self.there())
        cell = self.kernel.ask("str(look())", {"from": origin, "commit": False})
        assert cell.result == repr(str(self.has[origin])), str(cell)

    def step(self):
        steps = [self.run, self.crash, self.branch, self.begin, self.begin, self.go, self.look, self.look_beside]
        self.random.choice(steps)()
        self.look()


def check(start, folder, seed, steps):
    (folder / "host").write_text("host")
    model = Model(start(), seed)
    for _ in range(steps):
        model.step()
    if model.running:
        model.begin()
    for image in model.there():
        model.at = image
        assert model.kernel.control("petri_restore_request", {"to": image})["status"] == "ok"
        model.look()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.thorough)])
def test_each_state_has_what_its_cells_did_after_random_steps(start, tmp_path, seed):
    check(start, tmp_path, seed, 60)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2, 5))
def test_each_state_has_what_its_cells_did_after_many_random_steps(start, tmp_path, seed):
    check(start, tmp_path, seed, 150)
