"""Limits: what is accepted, in which unit it is sent, and what is refused before anything is sent."""

import datetime
import math

import pytest

from petri_kernel import BadRequest, Limits
from petri_kernel.limits import _UNITS, limit_value, limits_request


@pytest.mark.parametrize(
    ("name", "value", "sent"),
    [
        ("timeout", 10, 10_000),
        ("timeout", 0.25, 250),
        ("timeout", "10s", 10_000),
        ("timeout", "250ms", 250),
        ("timeout", "5 m", 300_000),
        ("timeout", "1h", 3_600_000),
        ("timeout", datetime.timedelta(minutes=2), 120_000),
        ("memory", 1 << 20, 1 << 20),
        ("memory", "512M", 512 << 20),
        ("memory", "2GiB", 2 << 30),
        ("memory", "100", 100),
        ("processes", 4, 4),
        ("processes", "4", 4),
    ],
)
def test_limit_value_is_sent_in_the_kernels_unit(name, value, sent):
    assert limit_value(name, value) == sent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", 0),
        ("timeout", -1),
        ("timeout", 0.0001),
        ("timeout", math.nan),
        ("timeout", math.inf),
        ("timeout", "10"),
        ("timeout", "1.5s"),
        ("timeout", "10M"),
        ("timeout", "٣s"),
        ("timeout", True),
        ("timeout", None),
        ("timeout", datetime.timedelta(0)),
        ("memory", 0),
        ("memory", 1.5),
        ("memory", "512X"),
        ("memory", "M"),
        ("memory", datetime.timedelta(1)),
        ("memory", 1 << 63),
        ("memory", str(1 << 64)),
        ("processes", "4K"),
        ("processes", [4]),
    ],
)
def test_limit_value_that_is_invalid_is_refused_by_name(name, value):
    with pytest.raises(BadRequest, match=f"^{name} has to be "):
        limit_value(name, value)


def test_limit_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(BadRequest, match="there is no limit 'time'; there are timeout, input_wait, cpu, memory"):
        limits_request({"time": 3}, None, None)


def test_limit_asked_for_twice_is_refused():
    with pytest.raises(BadRequest, match="timeout is asked for twice"):
        limits_request({"timeout": 3}, 4, None)


def test_limits_request_joins_what_is_asked_for():
    assert limits_request({"cpu": 1}, "2s", "1K") == {"cpu": 1000, "timeout": 2000, "memory": 1024}
    assert limits_request(None, None, None) == {}


def test_limits_of_the_report_have_a_field_for_each_name():
    suffixes = {"ms": "_ms", "bytes": "_bytes", "count": ""}
    assert set(Limits.__dataclass_fields__) == {name + suffixes[unit] for name, unit in _UNITS.items()}
