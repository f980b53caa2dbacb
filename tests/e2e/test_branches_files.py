"""
Files of branches: what random steps leave has to be the same in branches, in the branches' states once the session goes
there, and in a session of which each step is a cell.
"""

import pytest

from conftest import shared_kernel  # noqa: F401
from travels import branch, restore, run

pytestmark = pytest.mark.xdist_group("branches-files")  # one process: the kernel is there once

# step(n) is the same for the same files, and list_all() tells all of them.
BEGIN = """
import hashlib, os, random, shutil, socket, stat
base = os.getcwd()
places = [base, '/tmp/own', '/dev/shm/own']
for place in places[1:]: os.mkdir(place)
NAMES = [b'a', b'b', b'c', b'host', b'sub', b'\\xff\\n']
def attempt(f, *args, **options):
    try: return f(*args, **options)
    except OSError: pass
def remove(path):
    if os.path.isdir(path) and not os.path.islink(path): shutil.rmtree(path)
    else: os.unlink(path)
def write(path, random, how):
    if os.path.lexists(path) and not os.path.isfile(path): return  # a FIFO waits
    with open(path, how) as f: f.write(bytes([random.randrange(256)]) * random.choice([0, 3, 9000]))
def socket_at(path):
    s = socket.socket(socket.AF_UNIX)
    attempt(s.bind, path); s.close()
def path_of(random):
    return b'/'.join([os.fsencode(random.choice(places)), *(random.choice(NAMES) for _ in range(random.randint(1, 3)))])
def step(n):
    r = random.Random(n)
    for _ in range(12):
        p, q = path_of(r), path_of(r)
        attempt(r.choice([
            lambda: os.mkdir(p), lambda: os.makedirs(p, 0o750), lambda: write(p, r, 'wb'), lambda: write(p, r, 'ab'),
            lambda: write(p, r, 'r+b'), lambda: remove(p), lambda: remove(p), lambda: os.symlink(r.choice([q, b'.', b'/etc', b'none']), p),
            lambda: os.path.isdir(p) or os.rename(p, q), lambda: (os.link(p, q), os.unlink(p)), lambda: os.mkfifo(p), lambda: socket_at(p),
            lambda: os.path.islink(p) or os.chmod(p, r.choice([0o700, 0o755, 0o4711, 0o1777, 0o744])),
            lambda: os.truncate(p, r.randrange(99)),
            lambda: (remove(p), os.mkdir(p)), lambda: (remove(p), write(p, r, 'wb')), lambda: os.utime(p, (n, n)),
            lambda: (os.mkdir(q), os.rename(q, p)),
        ]))
def tell(path, links):
    s = os.lstat(path)
    kind = stat.filemode(s.st_mode)
    what = os.readlink(path) if stat.S_ISLNK(s.st_mode) else None
    if stat.S_ISREG(s.st_mode):
        what = s.st_size, hashlib.md5(open(path, 'rb').read()).hexdigest()[:8]
        links.setdefault(s.st_ino, []).append(path)
    return path, kind, what, int(s.st_mtime) if s.st_mtime < 1000 else None
def list_all():
    rows, links = [], {}
    for place in places:
        for at, folders, files in os.walk(os.fsencode(place)):
            folders[:] = [name for name in folders if name != b'outputs']
            rows += [tell(os.path.join(at, name), links) for name in folders + files]
    names = [sorted(same) for same in links.values() if len(same) > 1]
    return sorted(rows, key=lambda row: row[0]), sorted(names)
"""
TELL = "print(list_all())"


@pytest.fixture(scope="module")
def kernel(shared_kernel):
    folder = shared_kernel.folder
    for path in ("host", "a", "sub/a/b", "sub/host", "sub/c", "b/c/a", "b/c/host"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"host's {path}")
    shared_kernel.good("%limits history=200")
    shared_kernel.good(BEGIN)
    shared_kernel.good("%checkpoint rows")
    return shared_kernel


def told(kernel, **petri):
    cell = kernel.ask(TELL, petri)
    assert cell.ok, str(cell)
    return cell.stdout


def lines(text):
    return text.replace("), (", "),\n(").splitlines()


def check_steps(kernel, seed, steps=6):
    image, kept = "rows", []
    for n in range(steps):
        step = f"step({seed * 1000 + n})"
        image = branch(kernel, step, image)
        kept.append((image, told(kernel, **{"from": image, "commit": False})))
    assert len({told_beside for _, told_beside in kept}) > steps // 2  # they do change something
    kernel.good("%restore rows")
    for n, (_, told_beside) in enumerate(kept):
        run(kernel, f"step({seed * 1000 + n})")
        assert lines(told_beside) == lines(told(kernel, commit=False)), f"seed {seed}, step {n}: beside"
    for n, (image, told_beside) in reversed(list(enumerate(kept))):
        restore(kernel, to=image)
        assert lines(told(kernel, commit=False)) == lines(told_beside), f"seed {seed}, step {n}: gone to"
    for n, (image, told_beside) in enumerate(kept[::2]):
        assert lines(told(kernel, **{"from": image, "commit": False})) == lines(told_beside), f"seed {seed}, state {n}: again"
        restore(kernel, to=image)
        assert lines(told(kernel, commit=False)) == lines(told_beside), f"seed {seed}, state {n}: gone to again"


@pytest.mark.parametrize("seed", range(6))
def test_files_are_the_same_in_branches_in_their_states_and_in_a_session_of_the_same_steps(kernel, seed):
    check_steps(kernel, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6, 14))
def test_files_are_the_same_after_many_other_steps(kernel, seed):
    check_steps(kernel, seed, steps=10)
