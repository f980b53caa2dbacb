"""
Checks what a client expects of a run's output, in a process without code of the
run.

The kernel process asks in a throw-away copy of the first image, within limits
of its own: a pattern that takes for ever costs its own check.

See: docs/contract.md, JSON Schema (draft 2020-12 where the schema names no other).
"""

import ast
import json
import os
import re
import sys

from petri_worker import packages

_DETAIL = 300

# What jsonschema imports, where it is there, to check a `format`. A format is an annotation here, so nothing of it is
# asked for; and rfc3987_syntax, which comes with JupyterLab, takes seconds to make a parser when it is imported.
_OF_FORMATS = (
    *("fqdn", "idna", "isoduration", "jsonpointer", "rfc3339_validator", "rfc3986_validator", "rfc3987"),
    *("rfc3987_syntax", "uri_template", "webcolors"),
)


def check(request):
    """request: as in docs/worker-wire.md. Returns {"status", "ok", "detail"}."""
    try:
        with packages.installed_only():
            ok, detail = _CHECKS[request["what"]](request)
    except Exception as error:
        ok, detail = False, f"{type(error).__name__}: {error}"
    return {"status": "ok", "ok": ok, "detail": detail if len(detail) <= _DETAIL else detail[:_DETAIL] + "..."}


def _stdout_regex(request):
    """re.search() with no flags but those in the pattern."""
    try:
        pattern = re.compile(request["pattern"])
    except re.error as error:
        return False, f"the pattern is not valid: {error}"
    found = pattern.search(request["text"])
    return (True, f"found at {found.start()}") if found else (False, "not found")


def _result_json_schema(request):
    if request["data"] is None:
        return False, "the run has no result"
    try:
        result = _value_of(request["data"])
    except ValueError as error:
        return False, str(error)
    jsonschema = _jsonschema()
    if jsonschema is None:
        return False, "the package jsonschema is not installed, so nothing can be said"
    validator = jsonschema.validators.validator_for(request["schema"], default=jsonschema.Draft202012Validator)
    try:
        validator.check_schema(request["schema"])
    except jsonschema.exceptions.SchemaError as error:
        return False, f"the schema is not valid: {error.message}"
    error = jsonschema.exceptions.best_match(validator(request["schema"]).iter_errors(result))
    if error is None:
        return True, "the result is valid"
    return False, f"{'.'.join(['$', *map(str, error.absolute_path)])}: {error.message}"


def _value_of(data):
    """The result as JSON has it: its application/json, or its text read as JSON or as a literal of Python's."""
    if "application/json" in data:
        return data["application/json"]
    text = data.get("text/plain", "")
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("the result is neither JSON nor a literal of Python's") from None


def _jsonschema():
    """The interpreter's own, or petri's; None where there is neither."""
    if packages.site:
        sys.path.append(os.path.join(packages.site, "checks"))
    sys.modules.update(dict.fromkeys(_OF_FORMATS))  # None: they can't be imported
    try:
        import jsonschema
        import jsonschema.validators
    except ImportError:
        return None
    return jsonschema


_CHECKS = {"stdout_regex": _stdout_regex, "result_json_schema": _result_json_schema}
