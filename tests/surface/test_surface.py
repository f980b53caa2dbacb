"""Asks petri for every row of docs/protocol.md."""

import pytest
from page import KERNELS, PAGE, read, rendered
from probes import PROBES, look

VERSIONS, FOUND = read()

# What doesn't listen to an interrupt is ended after the grace: that one has to be the usual one.
ENDS_WITH_THE_GRACE = "interrupt_native"


@pytest.mark.parametrize("row", PROBES, ids=lambda row: row.name)
def test_row_is_answered_as_the_page_says(petri, row, monkeypatch, tmp_path):
    if row.name == ENDS_WITH_THE_GRACE:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        petri.renew()
        monkeypatch.undo()
    stated = FOUND["petri"][row.name]
    if stated == "yes":
        # So that a failure shows what was found instead.
        try:
            row.check(petri)
        except BaseException:
            petri.renew()
            raise
        if row.fresh:
            petri.renew()
    else:
        assert look(petri, row) == stated


def test_the_page_has_every_row_and_nothing_else():
    assert PAGE.read_text() == rendered(VERSIONS, FOUND)
    for name in KERNELS:
        assert set(FOUND[name]) == {row.name for row in PROBES}
        assert set(FOUND[name].values()) <= {"yes", "no"}, f"{name} was not asked"


def test_the_rows_have_names_of_their_own():
    assert len({row.name for row in PROBES}) == len(PROBES)
