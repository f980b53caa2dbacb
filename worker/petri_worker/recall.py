"""
%history, %recall and %rerun from memory: what this session has run.

The history that outlives sessions is kept by the kernel process, where cells
can't reach it.
"""

from fnmatch import fnmatchcase

from IPython.core.history import HistoryManager


class SessionHistory(HistoryManager):
    """IPython's, whose database is switched off, with the questions to it answered from its lists of inputs."""

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        """The last n inputs as (0, number, input); without the running cell's own unless it is asked for."""
        stop = len(self.input_hist_raw) - (not include_latest)
        return list(self._get_range_session(max(1, stop - (n or 10)), stop, raw, output))

    def search(self, pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False):
        """The last n inputs (None: all) that match a pattern with * and ?; of equal ones the last, where unique."""
        searched = self.input_hist_raw if search_raw else self.input_hist_parsed
        lines = {number: text for number, text in enumerate(searched) if number and fnmatchcase(text, pattern)}
        if unique:
            lines = {number: text for text, number in {text: number for number, text in lines.items()}.items()}
        numbers = sorted(lines)[-n if n else None :]
        return [line for number in numbers for line in self._get_range_session(number, number + 1, raw, output)]
