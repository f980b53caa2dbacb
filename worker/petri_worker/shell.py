"""
IPython's shell, with its output on the wire.

IPython does the Python behaviour. What is here is what differs between a
terminal and a kernel: where output, errors, pages and questions go; and
between a kernel of its own and a process that stands still between cells: no
history file, no thread, no pseudo-terminal.
"""

import errno
import os
import sys
import traceback
from types import SimpleNamespace

from IPython.core import interactiveshell, page
from IPython.core.autocall import ZMQExitAutocall
from IPython.core.error import StdinNotImplementedError, UsageError
from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC
from traitlets import Any, Instance, Type, default
from traitlets.config import Config

from petri_worker import travel
from petri_worker.display import PetriDisplayHook, PetriDisplayPublisher
from petri_worker.errors import cut_own_frames, describe
from petri_worker.hints import hint
from petri_worker.introspect import CellInspector
from petri_worker.magics import KernelMagics
from petri_worker.packages import explain_missing
from petri_worker.recall import SessionHistory
from petri_worker.store import LazyStore

# IPython 8 makes the directory behind %store as soon as a shell is made: nothing may be written before a cell asks.
if hasattr(interactiveshell, "PickleShareDB"):
    interactiveshell.PickleShareDB = LazyStore

# What %matplotlib and %gui name that needs no event loop of a display's.
_NO_EVENT_LOOP = (None, "asyncio", "inline", "ipympl", "nbagg", "notebook", "webagg", "widget")

_CONFIG = {
    # The kernel process keeps the history, which outlives sessions. In and _i work from memory.
    "HistoryManager": {"enabled": False, "hist_file": ":memory:"},
    # tqdm and others look for this key to know that they are in a notebook.
    "IPKernelApp": {"parent_appname": "petri"},
}


# Libraries recognise a notebook by this very name (tqdm, rich, plotly, pandas, altair), some of them by that of its
# module too: without it plotly puts all of plotly.js into the notebook. What they then expect, display() that reaches
# a front end and `.kernel`, is here.
class ZMQInteractiveShell(InteractiveShell):
    """
    The shell. `kernel` is what libraries know as the kernel object (kernel.py).

    send(msg_type, content, metadata, buffers, parent): publishes; set by the app.
    origin: the Origin, which knows whose output it is; set by the app.
    ask(prompt, password): asks the front end; set by the app.
    end_child(error): ends a process that the cell has forked, and does nothing in the session's own; set by the app.
    """

    __module__ = "ipykernel.zmqshell"
    inspector_class = Type(CellInspector)
    displayhook_class = Type(PetriDisplayHook)
    display_pub_class = Type(PetriDisplayPublisher)
    exiter = Instance(ZMQExitAutocall)
    kernel = Any()  # a trait: some libraries ask by has_trait() whether they are in a notebook
    autoindent = False
    keepkernel_on_exit = None
    _completer = None
    # IPython asks this for one path. Its own trait would read and write the user's profile.
    profile_dir = SimpleNamespace(location=os.path.expanduser("~/.ipython/profile_default"))

    def __init__(self, **kwargs):
        super().__init__(config=Config(_CONFIG), **kwargs)
        self.db = LazyStore(os.path.join(self.profile_dir.location, "db"))
        self.kernel = None
        self.origin = self.send = self.ask = self.tell_variable = self.code_begins = self.end_child = None
        self.allow_stdin = False
        self.has_stdin = False
        self.request_count = 0
        self.interrupted = False
        self.forget_error()

    @default("exiter")
    def _default_exiter(self):
        return ZMQExitAutocall(self)

    # The parts of IPython's start that are for terminals, or that write files.

    def init_ipython_dir(self, ipython_dir):
        """None: IPython's folder is made when something is kept there."""

    def init_profile_dir(self, profile_dir):
        """None, as above."""

    def init_sys_path(self):
        """The notebook's folder is put first once everything of ours is loaded: app.py."""

    def init_virtualenv(self):
        """The interpreter is the one that the kernelspec names, whatever VIRTUAL_ENV says."""

    def init_completer(self):
        """Nothing yet: see Completer."""

    @property
    def Completer(self):
        """IPython's completer, made when first asked for: it loads jedi."""
        if self._completer is None:
            super().init_completer()
        return self._completer

    @Completer.setter
    def Completer(self, completer):
        self._completer = completer

    def init_environment(self):
        """Programs that a cell starts have no terminal, but their output is shown with colours."""
        os.environ.update(
            TERM="xterm-color", CLICOLOR="1", FORCE_COLOR="1", CLICOLOR_FORCE="1", PAGER="cat", GIT_PAGER="cat"
        )

    def init_history(self):
        """In, _i and %history work from memory."""
        self.history_manager = SessionHistory(shell=self, parent=self)
        self.configurables.append(self.history_manager)

    def init_hooks(self):
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(self._page), 99)

    def init_magics(self):
        super().init_magics()
        self.register_magics(KernelMagics)
        travel.register(self)

    def _tee(self, channel):
        """Nothing: IPython would keep a copy of all that a cell prints."""
        from contextlib import nullcontext

        return nullcontext()

    async def run_code(self, code_obj, result=None, *, async_=False):
        """As IPython's, for each statement of a cell."""
        self.code_begins()
        return await super().run_code(code_obj, result, async_=async_)

    # Errors

    def showtraceback(self, exc_tuple=None, *args, **kwargs):
        """As IPython's, but an interrupted await is a KeyboardInterrupt, and what it can't format is published, too."""
        etype, value, tb = exc_tuple or sys.exc_info()
        if isinstance(value, SystemExit):
            self.end_child(value)  # a child that has asked for it; IPython would say that this ends no session
        cut_own_frames(tb)
        if self.interrupted and etype is not None and etype.__name__ == "CancelledError":
            etype, value = KeyboardInterrupt, KeyboardInterrupt().with_traceback(tb)
            exc_tuple = etype, value, tb
        if isinstance(value, ModuleNotFoundError):
            explain_missing(value)
        if _has_group(value) or not _can_open():
            self._showtraceback(etype, value, traceback.format_exception(etype, value, tb))
        else:
            super().showtraceback(exc_tuple, *args, **kwargs)

    def show_usage_error(self, exc):
        """One line instead of a traceback, as an error like all others: clients wait for one."""
        self._showtraceback(UsageError, exc, [f"UsageError: {exc}"])

    def _showtraceback(self, etype, evalue, stb):
        self.publish_error(evalue, describe(evalue, [*stb, *hint(evalue)], etype))

    def _format_exception_for_storage(self, exception, *args, **kwargs):
        """What IPython's history keeps of an error: what was shown, not a second traceback of it."""
        return self.shown if self.has_shown(exception) else describe(exception)

    def publish_error(self, error, content):
        """Publishes an error's {ename, evalue, traceback}, and keeps it for the reply."""
        if self.displayhook.is_at_work:
            self.display_error = error
        self.shown, self._shown_error = content, error
        self.send("error", content)

    def has_shown(self, error):
        """True where the last error that was published is this one."""
        return self.shown is not None and (self._shown_error is error or self.interrupted)

    def forget_error(self):
        """
        A new cell: nothing has been published, and no user's object is kept alive for it. display_error is what
        the cell's value has raised when it was formatted, which IPython reports and goes on.
        """
        self.shown = self._shown_error = self.display_error = None
        self.displayhook.forget()

    # What goes back with the reply

    def _page(self, text, start=0, screen_lines=0, pager_cmd=None):
        """The pager's text as a payload. text: str, or a MIME bundle."""
        data = text if isinstance(text, dict) else {"text/plain": text}
        self.payload_manager.write_payload({"source": "page", "data": data, "start": max(0, start)})

    def set_next_input(self, text, replace=False):
        """A payload that makes the front end put `text` into the next cell, or into this one."""
        self.payload_manager.write_payload({"source": "set_next_input", "text": text, "replace": replace})

    def ask_exit(self):
        """A payload that asks the front end to end the session, and a line: not every front end does so."""
        print(
            "petri: a cell can't end the kernel. exit() has asked the front end to; where nothing happens, use its "
            "menu (Kernel, Shut Down or Restart). sys.exit() ends the cell alone.",
            file=sys.stderr,
        )
        self.payload_manager.write_payload({"source": "ask_exit", "keepkernel": bool(self.keepkernel_on_exit)})

    # Questions

    def raw_input(self, prompt=""):
        """input(). StdinNotImplementedError where the request does not allow questions."""
        return self._ask(str(prompt), False)

    def getpass(self, prompt="Password: ", stream=None, **kwargs):
        """getpass.getpass(); the stream is the front end's own."""
        return self._ask(str(prompt), True)

    def _ask(self, prompt, password):
        if not self.allow_stdin:
            raise StdinNotImplementedError("this front end does not take questions: input() has nobody to ask")
        return self.ask(prompt, password)

    # Children

    def system(self, cmd):
        """
        `!cmd`: what it writes goes to sys.stdout, so that %%capture and the like have it, in order with what is
        printed. The status goes to _exit_code, a signal as a negative number, as in every notebook.
        """
        from subprocess import DEVNULL

        from petri_worker import children

        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        command = [children.shell(), "-c", self.var_expand(cmd, depth=1)]
        status = children.run(command, self._print, stdin=None if self.has_stdin else DEVNULL)
        self.user_ns["_exit_code"] = 128 - status if status > 128 else status

    @staticmethod
    def _print(text):
        sys.stdout.write(text)
        sys.stdout.flush()

    system_piped = system_raw = system

    def enable_gui(self, gui=None):
        """UsageError: there is no display inside the sandbox, and nothing runs between cells."""
        if gui not in _NO_EVENT_LOOP:
            raise UsageError(f"no event loop for {gui!r}: a cell's sandbox has no display")

    # What ipywidgets asks a shell for

    def get_parent(self):
        """{"header": …} of the request that is being served."""
        return self.kernel.get_parent()

    @property
    def parent_header(self):
        """The header of that request."""
        return self.get_parent()["header"]

    def set_parent(self, parent):
        """From now on the calling thread's or task's output belongs to the cell in which get_parent() has returned `parent`."""
        self.set_thread_parent(parent)

    def set_thread_parent(self, parent):
        """The same; returns a token for reset_thread_parent()."""
        return self.origin.name(parent)

    def reset_thread_parent(self, token):
        """Undoes set_thread_parent(). ValueError in another thread or task."""
        self.origin.forget(token)


InteractiveShellABC.register(ZMQInteractiveShell)


def _can_open():
    """Whether a file can be opened: without, IPython can't format its first error, for which it imports modules."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in (errno.EMFILE, errno.ENFILE)
    return True


def _has_group(value):
    """True where IPython would print the error to stderr, being unable to format groups."""
    while value is not None:
        if any(kind.__name__ == "BaseExceptionGroup" for kind in type(value).__mro__):
            return True
        value = value.__context__
    return False
