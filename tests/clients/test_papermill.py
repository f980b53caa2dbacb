"""papermill: a notebook with parameters, executed by its command."""

import subprocess
import sys

import nbformat

PARAMETERS = "number = 1\nname = 'nobody'"


def write_notebook(path, *sources):
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "petri", "display_name": "petri", "language": "python"}}
    )
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in (PARAMETERS, *sources)]
    notebook.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(notebook, path)


def papermill(petri, folder, *arguments):
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "in.ipynb", "out.ipynb", *arguments]
    done = subprocess.run(command, cwd=folder, env=petri.whole_env, capture_output=True, text=True, check=False)
    return done, nbformat.read(folder / "out.ipynb", as_version=4)


def test_parameters_reach_the_notebook(petri, tmp_path):
    write_notebook(tmp_path / "in.ipynb", "print(name)\nnumber + 1")
    done, notebook = papermill(petri, tmp_path, "-p", "number", "41", "-p", "name", "petri")
    assert done.returncode == 0, done.stderr
    defaults, injected, cell = notebook.cells
    assert defaults.source == PARAMETERS
    assert "injected-parameters" in injected.metadata.tags
    stream, result = cell.outputs
    assert stream.text == "petri\n"
    assert result.data["text/plain"] == "42"
    assert notebook.metadata.papermill.exception is None


def test_failing_cell_ends_the_run_and_is_named(petri, tmp_path):
    write_notebook(tmp_path / "in.ipynb", "%%limits timeout=300ms\nwhile True: pass", "print('never')")
    done, notebook = papermill(petri, tmp_path)
    assert done.returncode != 0
    assert "CellTimeout" in done.stderr
    assert notebook.metadata.papermill.exception
    timeout, never = notebook.cells[-2:]
    assert [output.ename for output in timeout.outputs if output.output_type == "error"] == ["CellTimeout"]
    assert never.outputs == []
