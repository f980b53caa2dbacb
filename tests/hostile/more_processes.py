"""."""

CASES = []
