"""The rows of the page: what is asked of a kernel, and how."""

import dataclasses
import sys
import traceback
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Probe:
    """message: as the specification names it; what: the field, or the behaviour; check: asserts that it is there."""

    message: str
    what: str
    check: Callable
    fresh: bool  # leaves the kernel in a state that no other probe should find

    @property
    def name(self):
        """Of the test, and in the page."""
        return self.check.__name__


PROBES: list[Probe] = []


def probe(message, what, fresh=False):
    """Registers a function of a kernel (Asked) as a row."""

    def register(check):
        PROBES.append(Probe(message, what, check, fresh))
        return check

    return register


def look(kernel, row):
    """"yes" or "no", then with the reason on stderr; whatever went wrong, the kernel is well afterwards."""
    try:
        row.check(kernel)
        found, well = "yes", True
    except Exception as error:
        found, well = "no", False
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"{type(error).__name__} {error} at {where.filename}:{where.lineno}"
        print(f"{kernel.name}: {row.name}: {reason}", file=sys.stderr)
    if row.fresh or not well:
        kernel.renew()
    return found


import probes_execute  # noqa: E402, F401
import probes_output  # noqa: E402, F401
import probes_aside  # noqa: E402, F401
import probes_comm  # noqa: E402, F401
import probes_control  # noqa: E402, F401
import probes_wire  # noqa: E402, F401
