"""What a person reads under a cell of the files that it has made."""

import pytest

# The last line of the first note of a session.
EXPLAINED = (
    "Until the kernel restarts, cells see what they have written here, even if the file on the disk changes; "
    "after that they see the disk, with the copies in {}/."
)
NOT_COPIED = 'to which nothing is copied ("artifacts" of the configuration)'
WRITABLE = ' The kernel "Python 3 (petri, writable)" writes to this folder itself.'
UNCHANGED = "Your own file on the disk is unchanged, and cells see the new one: "
GONE = "Removed for this session's cells, and still on the disk: "


def note(cell):
    """What is said of files under the cell, plain and Markdown, but for what is said once; None for nothing."""
    begins = ("Saved", "Not saved", "Not removed", "Your own", "Removed")
    notes = [c["data"] for c in cell.of("display_data") if c["data"]["text/plain"].startswith(begins)]
    assert len(notes) <= 1
    if not notes:
        return None
    lines = notes[0]["text/plain"].splitlines(), notes[0]["text/markdown"].split("  \n")
    return tuple("\n".join(line for line in text if not line.startswith("Until the kernel")) for text in lines)


def test_note_tells_once_a_session_what_a_restart_forgets(start, tmp_path):
    kernel = start()
    first, second = (kernel.good(f"open('{name}', 'w').write('x')") for name in ("a.txt", "b.txt"))
    lines = [cell.of("display_data")[0]["data"]["text/plain"].splitlines() for cell in (first, second)]
    assert lines == [["Saved to outputs/: a.txt", EXPLAINED.format("outputs") + WRITABLE], ["Saved to outputs/: b.txt"]]
    kernel.manager.restart_kernel()
    kernel.wait_until_up()
    assert kernel.value("import os; os.path.exists('a.txt'), os.path.exists('outputs/a.txt')") == "(False, True)"
    again = kernel.good("open('c.txt', 'w').write('x')").of("display_data")[0]["data"]["text/plain"]
    assert again.endswith(EXPLAINED.format("outputs") + WRITABLE)


def test_note_of_strict_names_no_kernel_that_writes(start):
    cell = start(name="petri-strict").good("open('a.txt', 'w').write('x')")
    lines = cell.of("display_data")[0]["data"]["text/plain"].splitlines()
    assert lines == ["Saved to outputs/: a.txt", EXPLAINED.format("outputs").replace("with the", "without the")]


def test_note_says_that_an_own_file_is_unchanged_unless_petri_wrote_it(venv_kernel, tmp_path):
    (tmp_path / "own.csv").write_text("own")
    (tmp_path / "Makefile").write_text("own")
    cell = venv_kernel.good("for name in 'own.csv', 'Makefile', 'new.csv': open(name, 'w').write('new')")
    saved, refused, unchanged = note(cell)[0].splitlines()
    assert saved == "Saved to outputs/: new.csv, own.csv" and refused.startswith("Not saved: Makefile (")
    assert unchanged == f"{UNCHANGED}Makefile, own.csv"
    assert (tmp_path / "own.csv").read_text() == (tmp_path / "Makefile").read_text() == "own"
    # A path of the export folder is where the copy is.
    write = "import os; os.makedirs('outputs', exist_ok=True); open('outputs/own.csv', 'w').write('newer')"
    assert note(venv_kernel.good(write))[0] == "Saved to outputs/: own.csv"
    assert note(venv_kernel.good("import os; os.remove('new.csv')")) is None
    assert note(venv_kernel.good("os.remove('own.csv')"))[0] == f"{GONE}own.csv"


def test_note_names_own_files_in_a_folder_that_cells_have_made_anew(venv_kernel, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "own.csv").write_text("own")
    assert note(venv_kernel.good("import os, shutil; shutil.rmtree('sub')"))[0] == f"{GONE}sub"
    venv_kernel.good("os.mkdir('sub')")
    cell = venv_kernel.good("open('sub/own.csv', 'w').write('new')")
    assert note(cell)[0] == f"Saved to outputs/: sub/own.csv\n{UNCHANGED}sub/own.csv"
    venv_kernel.good("os.makedirs('outputs/sub'); open('outputs/sub/own.csv', 'w').write('newer')")
    assert note(venv_kernel.good("os.remove('outputs/sub/own.csv')"))[0] == f"{GONE}outputs/sub/own.csv"
    assert note(venv_kernel.good("os.remove('sub/own.csv')"))[0] == f"{GONE}sub/own.csv"


def test_note_of_a_fresh_run_explains_no_session(venv_kernel):
    cell = venv_kernel.ask("open('a.txt', 'w').write('x')", {"fresh": True})
    assert cell.of("display_data")[0]["data"]["text/plain"] == "Saved to outputs/: a.txt"


@pytest.mark.parametrize("petri", [{"fresh": True}, {"from": "first", "commit": "branch"}], ids=["fresh", "branch"])
def test_note_of_a_run_beside_the_session_says_that_its_files_are_not_the_sessions(venv_kernel, tmp_path, petri):
    (tmp_path / "own.csv").write_text("own")
    (tmp_path / "old.csv").write_text("old")
    cell = venv_kernel.ask("import os; open('own.csv', 'w').write('new'); os.remove('old.csv')", petri)
    assert note(cell)[0].splitlines() == [
        "Saved to outputs/: own.csv",
        "Your own file on the disk is unchanged, and the session doesn't see the new one: own.csv",
        "Removed for this run, not for the session, and still on the disk: old.csv",
    ]
    assert venv_kernel.value("open('own.csv').read() + open('old.csv').read()") == "'ownold'"


def test_names_with_markdown_characters_are_escaped_in_the_note(venv_kernel):
    cell = venv_kernel.run("open('a_b [1](x) *ä*.txt', 'w').write('x')")
    plain, markdown = note(cell)
    assert plain == "Saved to outputs/: a_b [1](x) *ä*.txt"
    assert markdown == (
        "Saved to outputs/: [a\\_b \\[1\\]\\(x\\) \\*ä\\*.txt](outputs/a_b%20%5B1%5D%28x%29%20%2A%C3%A4%2A.txt)"
    )


def test_note_where_nothing_is_copied_says_once_that_a_restart_forgets_it(configure, start, tmp_path):
    (tmp_path / "own.csv").write_text("own")
    configure(artifacts=False)
    kernel = start()
    first, second, third = (kernel.good(f"open('{name}', 'w').write('x')") for name in ("a.txt", "b.txt", "own.csv"))
    said = first.of("display_data")[0]["data"]["text/plain"]
    assert said == EXPLAINED.replace("with the copies in {}/", NOT_COPIED) + WRITABLE
    assert second.of("display_data") == []
    assert note(third)[0] == f"{UNCHANGED}own.csv"
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"] and (tmp_path / "own.csv").read_text() == "own"
