"""Magics that differ between a kernel and a terminal, and those that petri refuses."""

import os
import shlex
import sys

from IPython.core import page
from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_cell_magic, line_magic, magics_class

_INSTALLERS = ("pip", "conda", "mamba", "micromamba", "uv")
_PIP_READS = ("list", "show", "freeze", "check", "inspect", "help", "--version", "-V")
_ASKS_NETWORK = {"-o", "--outdated", "-u", "--uptodate"}  # of "list"
_SCRIPTS = ("sh", "bash", "perl", "ruby", "python", "python2", "python3", "pypy")

# What PETRI_VARIABLES names: the variables that come of the configuration; None where cells get none of it.
configured = os.environ.pop("PETRI_VARIABLES", None)


@magics_class
class KernelMagics(Magics):
    """Registered by the shell, over IPython's own of the same names."""

    def __init__(self, shell):
        super().__init__(shell)
        self._hidden = set((configured or "").split())
        for name in _INSTALLERS:
            self.magics["line"][name] = _installer(shell, name)
        for name in _SCRIPTS:
            self.magics["cell"][name] = self._script_magic(name)

    @line_cell_magic
    def limits(self, line, cell=None):
        """
        %limits, %%limits: the limits of this cell and of this session.

        A cell's first line, before which only comments may stand::

            %limits                          shows all limits, and what has been used of them
            %%limits timeout=10s memory=2G   this cell has these
            %limits timeout=10s              this cell and those after it have these

        Times take ms, s, m and h, sizes K, M and G. petri reads the line itself, outside of
        the sandbox, before the cell begins; code can't change its own limits.
        """
        raise UsageError(
            "%limits is read before a cell begins, so it has to be the cell's first line: move it to the top, "
            "or into a cell of its own."
        )

    @line_magic
    def env(self, line=""):
        """
        %env lists the environment variables, %env NAME shows one, %env NAME=VALUE or %env NAME VALUE sets one.

        It stays set for the session. Values that are set here, and those that petri's configuration sets
        ("variables"), are shown as <hidden> in the list, and petri's records and its history of code have a mark in
        their place. The notebook's file has what its cells say and show.
        """
        from IPython.core.magics.osm import OSMagics

        found = OSMagics.env(self, line)
        if isinstance(found, dict):
            found.update(dict.fromkeys(self._hidden & found.keys(), "<hidden>"))
        return found

    @line_magic
    def set_env(self, line):
        """%set_env NAME=VALUE: sets an environment variable, as %env does."""
        name, sign, value = line.partition("=" if "=" in line else " ")
        name, value = name.strip(), value.strip()
        if not name or not sign:
            raise UsageError("usage is 'set_env var=val'")
        if any(map(str.isspace, name)):
            raise UsageError("refusing to set env var whose name contains whitespace")
        self.shell.tell_variable(name, value)
        self._hidden.add(name)
        os.environ[name] = value
        print(f"env: {name}=<hidden>")

    @line_magic("config")
    def configure(self, line):
        """%config: IPython's own, with the completer in its list, which is made when first asked for."""
        from IPython.core.magics.config import ConfigMagics

        self.shell.Completer
        # Not .config: that is the attribute of all configurable objects.
        return ConfigMagics(self.shell).magics["line"]["config"](line)

    @line_magic
    def store(self, line):
        """%store: loads the extension that has it, which then takes this one's place."""
        self.shell.extension_manager.load_extension("IPython.extensions.storemagic")
        return self.shell.run_line_magic("store", line)

    @line_magic
    def edit(self, line=""):
        """%edit is refused: it would open a file of the front end's machine, which is not the cell's."""
        raise UsageError("%edit can't open an editor from a sandbox; %load FILE puts a file's text into the cell.")

    @line_magic
    def less(self, line):
        """%less FILE: shows a file in the pager."""
        if not line.strip():
            raise UsageError("Missing filename.")
        with open(line.strip(), encoding="utf-8", errors="replace") as file:
            page.page(file.read())

    more = line_magic("more")(less)

    @line_magic
    def man(self, line):
        """%man TOPIC: shows a manual page in the pager."""
        page.page(self.shell.getoutput(f"man {line} | col -b", split=False))

    @line_magic
    def clear(self, line):
        """%clear: clears the cell's output."""
        self.shell.display_pub.clear_output()

    @cell_magic
    def script(self, line, cell):
        """
        %%script PROGRAM: runs the cell's text as the program's standard input.

        IPython's own keeps a thread with an event loop for it, for ever, and
        a thread costs every cell that follows. Here the cell itself carries
        its output.
        """
        from IPython.core.magics.script import ScriptMagics
        from IPython.utils.process import arg_split

        args, command = ScriptMagics.shebang.parser.parse_known_args(arg_split(line, posix=True))
        if args.bg or args.proc:
            raise UsageError("--bg: a cell's processes end with the cell, so nothing can go on in the background")
        self._run_script(command, cell, args)

    def _run_script(self, command, cell, args):
        from subprocess import CalledProcessError

        from petri_worker import children

        kept = {name: [] for name in (args.out, args.err) if name}
        out = kept[args.out].append if args.out else sys.stdout.write
        err = kept[args.err].append if args.err else sys.stderr.write
        text = (cell if cell.endswith("\n") else cell + "\n").encode()
        try:
            status = children.run(command, out, err, text)
        except FileNotFoundError:
            raise UsageError(f"Couldn't find program: {command[0]!r}") from None
        self.shell.user_ns.update((name, "".join(pieces)) for name, pieces in kept.items())
        if args.raise_error and status:
            raise CalledProcessError(status, text)

    def _script_magic(self, name):
        def run(line, cell):
            return self.script(f"{name} {line}", cell)

        run.__doc__ = f"%%{name}: runs the cell with {name}; short for %%script {name}."
        return run


def _installer(shell, name):
    """%pip and its like: what only reads is run, all else is refused with what to do instead."""

    def install(line=""):
        words = line.split()
        if name == "pip" and words and words[0] in _PIP_READS and not _ASKS_NETWORK & set(words):
            return shell.system(f"{shlex.quote(sys.executable)} -m pip {line}")
        raise UsageError(
            f"%{name} can't install anything here: a cell has no network, and packages belong to whoever runs petri. "
            f"In a terminal: {_instead(name, words)}; then restart the kernel."
        )

    reads = f" {', '.join(_PIP_READS)} are run." if name == "pip" else ""
    install.__doc__ = f"%{name} is refused: packages are installed outside of petri.{reads}"
    return install


def _instead(name, words):
    """The command that does outside of petri what was asked for."""
    if name == "pip":
        return shlex.join([sys.executable, "-m", "pip", *words])
    return shlex.join([name, *words])
