"""docs/clients.md lists the same differences from ipykernel as the tests."""

import page


def test_differences_in_the_page_are_those_of_the_tests():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.replaced(text, "differences", page.differences()) == text, "run tests/clients/page.py"
