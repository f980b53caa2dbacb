"""
%history, %recall and %rerun from memory: what this session has run.

In[3] is the cell that front ends show as [3]: the number comes with each request. IPython's own lists count what was
run and kept, so they have an empty text for each number that none of their inputs has (`exit`, a %reset).

The history that outlives sessions is kept by the kernel process, where cells
can't reach it.
"""

from fnmatch import fnmatchcase

from IPython.core.history import HistoryManager


class SessionHistory(HistoryManager):
    """IPython's, whose database is switched off, with the questions to it answered from its lists of inputs."""

    def begin(self, number, missed):
        """
        Makes both lists end before the number of a request whose input is stored next (None: of none). missed: cells
        that were not run here, or were rolled back, as [number, code], by their numbers.
        """
        for missed_number, code in missed:
            self._end_before(missed_number)
            self.input_hist_parsed.append(code.rstrip("\n"))
            self.input_hist_raw.append(code.rstrip("\n"))
            self.shell.push({f"_i{missed_number}": self.input_hist_raw[-1]}, interactive=False)
        if number is not None:
            self._end_before(number)

    def get_tail(self, n=10, raw=True, output=False, include_latest=False):
        """The last n inputs as (0, number, input); without the running cell's own unless it is asked for."""
        stop = len(self.input_hist_raw) - (not include_latest)
        return list(self._get_range_session(1, stop, raw, output))[-(n or 10) :]

    def search(self, pattern="*", raw=True, search_raw=True, output=False, n=None, unique=False):
        """The last n inputs (None: all) that match a pattern with * and ?; of equal ones the last, where unique."""
        searched = self.input_hist_raw if search_raw else self.input_hist_parsed
        lines = {number: text for number, text in enumerate(searched) if number and fnmatchcase(text, pattern)}
        if unique:
            lines = {number: text for text, number in {text: number for number, text in lines.items()}.items()}
        numbers = sorted(lines)[-n if n else None :]
        return [line for number in numbers for line in self._get_range_session(number, number + 1, raw, output)]

    def _get_range_session(self, start=1, stop=None, raw=True, output=False):
        """As IPython's, without the numbers that have no input."""
        for line in super()._get_range_session(start, stop, raw, output):
            if line[2] if not output else line[2][0]:
                yield line

    def _end_before(self, number):
        """What is appended then has the number. Beyond it there is only what cells have had the shell run and store."""
        for inputs in (self.input_hist_parsed, self.input_hist_raw):
            del inputs[number:]
            inputs.extend([""] * (number - len(inputs)))
