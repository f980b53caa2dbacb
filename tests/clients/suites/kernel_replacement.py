"""
A pytest plugin for ipykernel's suite, the same for every kernel that it is
run with: its tests share one kernel, and one that fails may leave that busy or
talking. The next one gets another, so that a failure is counted once.
"""

import sys

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    utils = sys.modules.get("tests.utils")
    if report.failed and utils is not None and utils.KM is not None:
        utils.stop_global_kernel()
    return report
