"""What petri's own services cost a cell: run records, and artifacts that are copied out.

Two kernels that differ in one key of their configuration get the same cells,
one after the other in turns, so that what the machine does meanwhile hits both.
"""

import contextlib
import dataclasses
import json
import pathlib
import statistics
import tempfile

from peers import Peer

ARTIFACT_BYTES = 1_000_000


@dataclasses.dataclass(frozen=True)
class Service:
    """A service, the cell that it is measured with, and the configurations with it and without."""

    name: str
    code: str
    on: dict
    off: dict


SERVICES = [
    Service("pass, run records", "pass", {}, {"records": False}),
    Service(
        "a cell that writes a file of 1 MB, artifacts",
        f"with open('out.bin', 'wb') as file: file.write(bytes({ARTIFACT_BYTES}))",
        {"records": False},
        {"records": False, "artifacts": False},
    ),
]


def start(folder, config):
    """A petri with a configuration, in a notebook folder of its own."""
    own = pathlib.Path(tempfile.mkdtemp(dir=folder))
    path = own / "config.json"
    path.write_text(json.dumps(config))
    notebooks = own / "notebooks"
    notebooks.mkdir()
    peer = Peer("petri", str(notebooks), ["--config", str(path)])
    peer.wait_for_iopub()
    return peer


def measure(service, folder, count):
    """Milliseconds of a cell with the service and without, each the median of count cells."""
    times = [[], []]
    with contextlib.ExitStack() as stack:
        peers = []
        for config in (service.on, service.off):
            peers.append(start(folder, config))
            stack.callback(peers[-1].close)
        for number in range(count + 2):
            for peer, found in zip(peers, times, strict=True):
                seconds, _ = peer.run(service.code)
                if number >= 2:  # the first ones still fill caches
                    found.append(1000 * seconds)
    return [statistics.median(found) for found in times]


def measure_all(rounds, count):
    """By service: milliseconds with it and without, medians over the rounds."""
    values = {service.name: [] for service in SERVICES}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for service in SERVICES:
                values[service.name].append(measure(service, folder, count))
    return {name: [statistics.median(column) for column in zip(*found, strict=True)] for name, found in values.items()}


def table(medians):
    """The costs as a Markdown table."""
    lines = ["| what a cell takes, ms | with | without | the service costs |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {name} | {on:.2f} | {off:.2f} | {on - off:.2f} |" for name, (on, off) in medians.items()]
    return "\n".join(lines)
