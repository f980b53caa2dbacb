"""Fixtures: workers for each interpreter of this machine."""

import pytest

from kernel_side import Worker, interpreters

INTERPRETERS = interpreters()


@pytest.fixture(scope="session")
def pool():
    """Idle workers, by label: a start takes longer than most tests."""
    workers = {}
    yield workers
    for worker in workers.values():
        assert worker.close() == 0


@pytest.fixture
def new_worker():
    """Starts workers that no other test sees."""
    started = []

    def start(label="venv", env=()):
        started.append(Worker(INTERPRETERS[label], env))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()


@pytest.fixture(params=INTERPRETERS)
def label(request):
    return request.param


def _from_pool(pool, label):
    worker = pool.pop(label, None) or Worker(INTERPRETERS[label])
    worker.execute("%reset -f")
    return worker


def _lend(request, pool, label):
    worker = _from_pool(pool, label)
    failed = request.session.testsfailed
    yield worker
    # After a failure nobody knows what it is in the middle of.
    if request.session.testsfailed > failed or worker.process.poll() is not None:
        worker.kill()
    else:
        pool[label] = worker


@pytest.fixture
def worker(request, pool, label):
    """A worker for each interpreter, with an empty namespace; other tests have used it before."""
    yield from _lend(request, pool, label)


@pytest.fixture
def venv_worker(request, pool):
    """The same for the tests' own environment, which has all the packages."""
    yield from _lend(request, pool, "venv")
