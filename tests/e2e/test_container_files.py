"""The files of containers/ that no runtime here can try: they are well formed, and agree with each other, cli/ and docs/."""

import json
import re
import types

import yaml

from containers import PROFILE, make_seccomp
from kernels import ROOT

FOLDER = ROOT / "containers"
PAGE = (ROOT / "docs" / "containers.md").read_text()

# Of the OCI's runtime specification: what containerd reads of a profile, and what a rule may have there. Docker and Podman
# read more, and containerd would go on without it.
OF_A_PROFILE = {"defaultAction", "defaultErrnoRet", "architectures", "syscalls"}
OF_A_RULE = {"names", "action", "errnoRet", "args"}


def settings(name):
    """What a file says to JupyterHub, by spawner."""
    config = types.SimpleNamespace(
        JupyterHub=types.SimpleNamespace(), DockerSpawner=types.SimpleNamespace(), KubeSpawner=types.SimpleNamespace()
    )
    code = (FOLDER / name).read_text().replace("/etc/petri/seccomp.json", str(PROFILE))
    exec(compile(code, name, "exec"), {"get_config": lambda: config})  # noqa: S102 - a file of ours
    return config


def options():
    """Those that doctor names, by runtime: the strings of the table in cli/container.c."""
    source = (ROOT / "cli" / "container.c").read_text()
    table = re.search(r"runtimes\[\] = \{(.*?)\n\};", source, re.DOTALL)[1]
    rows = re.findall(r'\[(\w+)\] = \{"[^"]*",\s*((?:"[^"]*"\s*)+|NULL)\}', table)
    return {name: "".join(re.findall(r'"([^"]*)"', text)) for name, text in rows if text != "NULL"}


def test_page_quotes_the_options_that_doctor_names():
    found = options()
    assert sorted(found) == ["DOCKER", "KUBERNETES", "LXC", "PODMAN"]
    for text in found.values():
        assert f"`{text}`" in PAGE


def test_profile_has_no_condition_that_a_runtime_ignores():
    profile = json.loads(PROFILE.read_text())
    assert set(profile) == OF_A_PROFILE
    for rule in profile["syscalls"]:
        assert set(rule) - {"comment"} <= OF_A_RULE, rule
        for arg in rule.get("args", []):
            assert set(arg) <= {"index", "value", "valueTwo", "op"}


def test_what_is_added_to_the_profile_stands_first_with_its_reason_and_nowhere_else():
    rules = json.loads(PROFILE.read_text())["syscalls"]
    additions = list(make_seccomp.additions())
    assert rules[: len(additions)] == additions
    assert all(rule["comment"].startswith("petri: ") for rule in additions)
    added = {name for rule in additions for name in rule["names"]}
    assert not any(added & set(rule["names"]) for rule in rules[len(additions) :])


def test_page_lists_the_calls_that_are_added():
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted({name for name, _, _ in make_seccomp.NEEDED})


def test_pod_has_what_doctor_names_and_no_root():
    pod = yaml.safe_load((FOLDER / "pod.yaml").read_text())["spec"]
    (container,) = pod["containers"]
    security = container["securityContext"]
    named = yaml.safe_load("{" + options()["KUBERNETES"] + "}")
    assert named.pop("hostUsers") is pod["hostUsers"] is False
    assert {key: security[key] for key in named} == named
    assert pod["securityContext"]["runAsNonRoot"] and security["capabilities"] == {"drop": ["ALL"]}


def test_kubespawner_gets_what_the_pod_has():
    pod = yaml.safe_load((FOLDER / "pod.yaml").read_text())["spec"]
    spawner = settings("hub_kubernetes.py").KubeSpawner
    assert spawner.cmd == ["jupyterhub-singleuser"]
    assert spawner.extra_pod_config == {"hostUsers": pod["hostUsers"]}
    assert spawner.image == pod["containers"][0]["image"]
    user = {key: pod["securityContext"][key] for key in ("runAsUser", "runAsGroup", "runAsNonRoot")}
    assert spawner.container_security_context == pod["containers"][0]["securityContext"] | user


def test_dockerspawner_sends_the_profile_and_what_doctor_names():
    spawner = settings("hub_docker.py").DockerSpawner
    assert spawner.cmd == ["jupyterhub-singleuser"]
    rendered = [option.format() for option in spawner.extra_host_config["security_opt"]]  # as DockerSpawner does
    (profile,) = [option.removeprefix("seccomp=") for option in rendered if option.startswith("seccomp=")]
    assert json.loads(profile) == json.loads(PROFILE.read_text())
    assert "apparmor=unconfined" in rendered and "apparmor=unconfined" in options()["DOCKER"]
    assert spawner.extra_create_kwargs == {"host_config": {"MaskedPaths": [], "ReadonlyPaths": []}}


def test_containerfile_ends_as_an_ordinary_user_and_says_doctors_options():
    text = (FOLDER / "Containerfile").read_text()
    assert re.findall(r"(?m)^USER (\S+)", text) == ["1000:1000"]
    assert text.index("USER") > text.rindex("\nRUN ")
    assert options()["PODMAN"].replace("=seccomp.json", "=containers/seccomp.json") in text
