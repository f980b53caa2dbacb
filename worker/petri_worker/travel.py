"""The lines that go back to earlier states, for who asks what they do: petri reads them outside of the sandbox."""

from IPython.core.error import UsageError

_ALONE = (
    "{0} is read before a cell begins, outside of the sandbox, so it has to be the only line of its cell, with its %: "
    "write {0} into a cell of its own."
)

_DESCRIPTIONS = {
    "undo": """
        %undo, %undo 3: the session becomes what it was before its last cell, or its last three.

        Variables, files, threads and numbers of cells are those of that time. %redo goes on again,
        and a cell that runs now begins a branch: %timeline shows all of them, and nothing is lost.
        Files that were copied to outputs/ stay there.
        """,
    "redo": """
        %redo, %redo 3: goes on to where %undo or %restore has come from, by one cell or by three.
        """,
    "checkpoint": """
        %checkpoint NAME: gives the present state a name, for %restore NAME.

        States without a name go first when there is no room: %limits shows history and history_memory.
        """,
    "restore": """
        %restore NAME, %restore 7: the session becomes what it was when it got this name, or after cell [7].

        Where several cells have one number, %timeline shows how the ids of their runs begin: %restore takes these, too.
        """,
    "timeline": """
        %timeline: a table of the states that the session can go back to, and where it is.
        """,
    "diff": """
        %diff 3 clean, %diff 3: what differs between two states, or between one and the present one.

        Names that are new, gone, or of another type or size, and files of the notebook's folder.
        Numbers are compared by what they are; what is in other objects is not compared.
        """,
    "forget": """
        %forget NAME: takes the name of a %checkpoint away; then its state goes when there is no room for it.
        """,
}


def _magic(name, description):
    def magic(line=""):
        raise UsageError(_ALONE.format("%" + name))

    magic.__doc__ = description
    magic.__name__ = name
    return magic


def register(shell):
    """Registers a line magic for each, which has its description and runs nothing."""
    for name, description in _DESCRIPTIONS.items():
        shell.register_magic_function(_magic(name, description), magic_kind="line", magic_name=name)
