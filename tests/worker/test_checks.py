"""The request that checks a run's output, put to a worker alone; for whole kernels: tests/e2e/test_contract.py."""

import pytest


@pytest.mark.parametrize("package", ["rfc3987_syntax", "webcolors"])
def test_formats_are_not_checked_and_load_nothing(new_worker, tmp_path, package):
    """The first takes seconds to be imported, and comes with JupyterLab."""
    (tmp_path / f"{package}.py").write_text("raise SystemExit('it was imported')")
    worker = new_worker("venv", env={"PYTHONPATH": str(tmp_path)})
    schema = {"type": "string", "format": "iri"}
    data = {"text/plain": "'no address'"}
    request = {"type": "check", "what": "result_json_schema", "schema": schema, "data": data}
    assert worker.request(request).reply == {"status": "ok", "ok": True, "detail": "the result is valid"}
