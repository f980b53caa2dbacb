"""docs/clients.md says what the tests know."""

import page


def test_differences_in_the_page_are_those_of_the_tests():
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.replaced(text, "differences", page.differences()) == text, "run tests/clients/page.py"
