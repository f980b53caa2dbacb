"""The configuration's JSON schema, for editors, accepts what `petri config check` accepts, and no more."""

import json
import subprocess

import jsonschema
import pytest

from kernels import PETRI

GOOD = [
    {},
    {"history": False},
    {"profiles": {"notebook": {"timeout": "5m", "disk": "1G", "processes": 8}, "strict": {"memory": "128 MiB"}}},
    {"profiles": {"notebook": {"timeout": 1500, "memory": 1 << 30, "runs": 10, "budget": "1h"}}},
    {"records": False},
    {"records": {"keep_days": 1, "max_bytes": "64M"}},
    {"records": {"max_bytes": 1 << 20, "path": "/var/runs.sqlite"}},
    {"cache": {"ttl": "1 h"}},
    {"packages": ["numpy", "zope.interface"], "inputs": ["/srv"], "environment": ["REGION"]},
    {"artifacts": False},
    {"artifacts": "out"},
    {"interrupt_grace": "500ms"},
    {"refuse": {"imports": ["os.path"], "patterns": ["x+"]}, "redact": ["K-[0-9]+"]},
]
BAD = [
    [],
    {"unheard": 1},
    {"history": 1},
    {"profiles": {"lax": {}}},
    {"profiles": {"notebook": {"colour": 1}}},
    {"profiles": {"notebook": {"timeout": 0}}},
    {"profiles": {"notebook": {"timeout": "0s"}}},
    {"profiles": {"notebook": {"timeout": "1d"}}},
    {"profiles": {"notebook": {"displays": 1_000_000}}},
    {"profiles": {"strict": {"memory": "0M"}}},
    {"records": True},
    {"records": {"keep_days": 0}},
    {"records": {"max_bytes": "1.5G"}},
    {"records": {"path": "runs.sqlite"}},
    {"cache": {"ttl": "0h"}},
    {"cache": {"ttl": 5}},
    {"cache": False},
    {"packages": ["numpy>=2"]},
    {"packages": "numpy"},
    {"environment": ["1X"]},
    {"inputs": ["data"]},
    {"artifacts": "../x"},
    {"artifacts": ""},
    {"artifacts": True},
    {"interrupt_grace": 2},
    {"refuse": {"lines": []}},
]


@pytest.fixture(scope="module")
def validator():
    schema = json.loads(subprocess.run([PETRI, "config", "schema"], capture_output=True, check=True).stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("config", [*GOOD, *BAD], ids=json.dumps)
def test_schema_accepts_what_config_check_accepts_and_nothing_else(validator, tmp_path, config):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    checked = subprocess.run([PETRI, "config", "check", path], capture_output=True, text=True, check=False)
    assert checked.returncode == (0 if config in GOOD else 2), checked.stderr
    assert validator.is_valid(config) == (config in GOOD)
