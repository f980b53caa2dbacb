"""What scripts/steps.sh and common.sh do for the targets of the Makefile, tried with scripts of the test's own; and processor.sh."""

import os
import re
import shutil
import subprocess

import pytest

from kernels import ROOT, STUCK_S

DOOR = """#!/bin/sh
set -eu
. "$(dirname -- "$0")/common.sh"
. "$root/scripts/steps.sh"
slow() {
    step "slow" sh -c 'echo of slow; until [ -e go ]; do sleep 0.01; done'
}
quick() {
    step "quick" sh -c 'echo of quick; touch go'
}
fails() {
    false
    echo "$1 goes on"
    return 3
}
step "first: it's well" sh -c 'echo out; echo err >&2'
beside slow quick
step "fails" fails "what fails"
report "Left out: nothing."
"""


@pytest.fixture
def tree(tmp_path):
    """A checkout of scripts alone; its door is scripts/door.sh."""
    scripts = tmp_path / "a tree" / "scripts"
    scripts.mkdir(parents=True)
    for name in ("common.sh", "steps.sh"):
        shutil.copy(ROOT / "scripts" / name, scripts)
    write(scripts / "door.sh", DOOR)
    return scripts.parent


def write(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def run(tree, script, **env):
    """A script's exit status, and what it wrote."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PETRI_")}
    done = subprocess.run(
        [tree / "scripts" / script], cwd=tree, env={**others, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=STUCK_S, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_a_step_says_its_number_and_how_long_it_took_last_time(tree):
    _, first = run(tree, "door.sh")
    assert "== first: it's well (step 1 of 4, not timed yet)\nout\nerr\n-- ended: first: it's well, ok" in first
    (tree / "build" / "steps" / "door" / "first-it-s-well.seconds").write_text("75\n")
    _, second = run(tree, "door.sh")
    assert "== first: it's well (step 1 of 4, 75 s last time)\n" in second
    assert "== fails (step 4 of 4, not timed yet)\n" in second  # only what went well is compared with


def test_steps_beside_each_other_say_which_ones_still_run_and_show_their_output_whole(tree):
    status, wrote = run(tree, "door.sh")
    assert status == 1
    assert re.search(r"-- begins: slow \(step \d of 4, not timed yet\)", wrote)
    assert re.search(r"== quick\nof quick\n-- ended: quick, ok, \d s(; still running: slow)?\n", wrote)
    assert re.search(r"== slow\nof slow\n-- ended: slow, ok, \d s\n", wrote) or "still running: quick" in wrote


def test_the_end_of_what_failed_is_shown_below_the_summary(tree):
    status, wrote = run(tree, "door.sh", PETRI_JOBS="1", PETRI_STEPS="first|fails")
    summary = wrote.split("== summary\n")[1]
    rows = [re.sub(r" +\d+ s +", " ", line) for line in summary.splitlines()[:4]]
    assert rows == [" what they need: installed and built", "ok first: it's well", "FAILED fails", " in all"]
    assert summary.endswith("fails.log\nwhat fails goes on\n") and "== what failed: the end of" in summary
    assert status == 1


def test_nothing_goes_on_without_what_it_needs(tree):
    head, _, _ = DOOR.partition("slow() {")
    script = 'fetch() {\n    false\n    echo not here\n}\nother() {\n    step "other" true\n}\n'
    write(tree / "scripts" / "door.sh", f'{head}{script}beside fetch other\nneed fetch\nstep "late" echo too late\n')
    status, wrote = run(tree, "door.sh")
    assert status == 1 and re.search(r"(?m)^FAILED +fetch: ended before its last step$", wrote)
    assert re.search(r"(?m)^ok +\d+ s  other$", wrote) and "too late" not in wrote and "not here" not in wrote


def test_only_the_steps_that_are_asked_for_run(tree):
    status, wrote = run(tree, "door.sh", PETRI_STEPS="^first")
    assert status == 0 and wrote.endswith("\nOnly the steps that match PETRI_STEPS=^first.\n")
    assert "(step 1 of 1," in wrote and "fails" not in wrote
    status, wrote = run(tree, "door.sh", PETRI_STEPS="none of them")
    assert status == 1 and "no step's name matches none of them" in wrote


def test_a_build_is_configured_again_if_what_it_was_made_with_has_changed(tree):
    write(tree / "scripts" / "deps.sh", "#!/bin/sh\ncat found\n")
    write(tree / "cmake", '#!/bin/sh\necho cmake "$@"\nmkdir -p build\n: >build/build.ninja\n')
    write(
        tree / "scripts" / "build.sh",
        '#!/bin/sh\n. "$(dirname -- "$0")/common.sh"\nPATH=$root:$PATH\nconfigure "$build" --preset "$PRESET"\n',
    )

    def configured(preset="a", compiler="cc 12"):
        (tree / "found").write_text(compiler)
        return "cmake --fresh" in run(tree, "build.sh", PRESET=preset)[1]

    assert [configured(), configured()] == [True, False]
    assert [configured(compiler="cc 13"), configured(compiler="cc 13")] == [True, False]
    assert [configured("b", "cc 13"), configured("b", "cc 13")] == [True, False]
    (tree / "build" / "build.ninja").unlink()
    assert configured("b", "cc 13")


@pytest.mark.parametrize(("flags", "said"), [
    ("fpu pku ospke avx512f amx_tile user_shstk", "pku yes, avx512f yes, amx_tile yes, user_shstk yes"),
    ("pku avx512fp16 amx_tiles", "pku yes, avx512f no, amx_tile no, user_shstk no"),
    ("", "pku no, avx512f no, amx_tile no, user_shstk no"),
])  # fmt: skip
def test_ci_ends_with_what_the_processor_has(tmp_path, flags, said):
    cpuinfo = tmp_path / "cpuinfo"
    write(cpuinfo, 2 * f"processor\t: 0\nflags\t\t: {flags}\nvmx flags\t: amx_tile\n")
    command = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-2]
    done = subprocess.run([ROOT / command, cpuinfo], capture_output=True, text=True, check=True)
    assert done.stdout == f"processor: {said}\n"
