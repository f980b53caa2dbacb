"""Fixtures: one session a way of running, which survives all cells that are sent to it, and the table of how each went."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import pytest  # noqa: E402

import more_python  # noqa: E402
import more_wire  # noqa: E402
import probes  # noqa: E402
from harness import HostCanaries, Session  # noqa: E402
from ways import WAYS, Installed  # noqa: E402

# What tests have noted for the end of the output, which may be written by another process than theirs.
RESULTS = {}  # rows of the table: {case: {way: (outcome, seconds)}}, in the order in which they ended
BACKENDS = {}  # what has enforced the limit of memory: {way: backend}
NOTES = []


def pytest_addoption(parser):
    parser.addoption("--few", action="store_true", help="only the cells of cases.json, which name each kind of harm")
    parser.addoption("--linux", action="store_true", help="only the cells that Linux itself has to withstand")
    parser.addoption("--way", action="append", help="only this way of running; may be given more than once")


@pytest.fixture(scope="session")
def skip_or_fail():
    """What a test calls that can't run here: in CI that is a failure where root would make it possible."""
    return pytest.fail if os.environ.get("PETRI_REQUIRE_LIVE") == "1" and os.geteuid() == 0 else pytest.skip


@pytest.fixture(scope="session")
def installed():
    found = Installed()
    yield found
    found.remove()


class Place:
    """Where a way's kernels run, and the one that runs now."""

    def __init__(self, way, installed):
        self.way = way
        self.kernel_dir = installed.kernel_dir(way)
        slug = way.name.replace(",", "").replace(" ", "-")
        self.folder = installed.new_folder(f"notebook-{slug}")
        # Where copies go: the host's own, which cells can't remove on a Linux before 6.6, so it is there from the start.
        (self.folder / "outputs").mkdir()
        self.home = installed.new_folder(f"home-{slug}")
        self.canaries = HostCanaries(self.folder, self.home, pathlib.Path("/tmp"), pathlib.Path("/etc"))
        self.connections = installed.folder
        self.started = 0
        self.session = None
        self.backend = "?"

    def start(self, **options):
        """A new kernel in this way; the caller closes it."""
        self.started += 1
        connection = self.connections / f"connection-{self.way.name[:4]}-{os.getpid()}-{self.started}.json"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("HOME", str(self.home))
            for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
                patch.delenv(name, raising=False)
            session = Session(
                self.kernel_dir,
                self.folder,
                interpreter=self.way.interpreter,
                connection_file=str(connection),
                **options,
            )
        session.wait_until_up()
        return session

    def get(self):
        """The way's session with its canary; a new one where there is none."""
        if self.session is None:
            session = self.start()
            try:
                self.prove_containment(session)
                session.plant()
            except BaseException:
                session.close()
                raise
            self.session = session
        return self.session

    def prove_containment(self, session):
        """Harmless questions first: a sandbox with a hole gets no hostile cell."""
        run = probes.check(session)
        self.backend = run.report["isolation"]["memory"]
        if self.way.watched:
            assert self.backend == "watched"

    def drop(self):
        """Ends the session: what comes next starts anew."""
        if self.session:
            self.session.close()
        self.session = None

    def close(self):
        self.drop()
        self.canaries.remove()


def pytest_generate_tests(metafunc):
    if "place" in metafunc.fixturenames:
        asked = metafunc.config.getoption("--way")
        ways = [way for way in WAYS if not asked or way.name in asked]
        ids = [way.name.replace(", ", "-").replace(" ", "-") for way in ways]
        metafunc.parametrize("place", ways, ids=ids, scope="session", indirect=True)


@pytest.fixture(scope="session")
def place(request, installed, skip_or_fail):
    """One of the ways to run."""
    way = request.param
    if way.lacks:
        skip_or_fail(f"{way.name}: {way.lacks}")
    found = Place(way, installed)
    yield found
    found.close()


def pytest_itemcollected(item):
    """Ways but the first, which is an ordinary user's, are tried in `make test-all`."""
    if hasattr(item, "callspec") and item.callspec.params.get("place", WAYS[0]) is not WAYS[0]:
        item.add_marker(pytest.mark.thorough)


def pytest_collection_modifyitems(config, items):
    """What attacks Python or the wire doesn't depend on who runs it: the first way tries it."""
    above = {case.name for case in [*more_python.CASES, *more_wire.CASES]}
    left = []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if {"case", "place"} <= params.keys() and params["place"] is not WAYS[0] and params["case"].name in above:
            left.append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture
def note(request):
    """Adds a line to what is shown at the end."""
    return lambda line: request.node.user_properties.append(("line", line))


@pytest.fixture
def note_ending(request, place):
    """Adds how a case has ended to the table at the end; seconds is NaN where nothing has come."""

    def add(case, outcome, seconds):
        ending = [case.name, place.way.name, place.backend, outcome, seconds]
        request.node.user_properties.append(("ending", ending))

    return add


def pytest_runtest_logreport(report):
    if report.when != "teardown":
        return
    NOTES.extend(value for name, value in report.user_properties if name == "line")
    for case, way, backend, outcome, seconds in (value for name, value in report.user_properties if name == "ending"):
        RESULTS.setdefault(case, {})[way] = (outcome, seconds)
        BACKENDS[way] = backend


def pytest_terminal_summary(terminalreporter):
    write = terminalreporter.write_line
    if RESULTS:
        ways = [way.name for way in WAYS]
        terminalreporter.section("hostile cells: outcome and time, by way of running")
        heads = [f"{name} ({BACKENDS[name]})" if name in BACKENDS else f"{name} (not run)" for name in ways]
        write(f"{'case':34}" + "".join(f"{head:30}" for head in heads))
        for name, row in RESULTS.items():
            cells = [f"{row[way][0]:14} {row[way][1]:6.2f} s" if way in row else "-" for way in ways]
            write(f"{name:34}" + "".join(f"{cell:30}" for cell in cells))
    if NOTES:
        terminalreporter.section("measured")
        for line in NOTES:
            write(line)
