"""nbgrader: examples/course is checked, released, handed in, graded and returned, as an ordinary user."""

import nbformat
import pytest

import commands
from course import ASSIGNMENTS, Course, a_place, contents
from submissions import ATTACKS, HOSTILE, POINTS, RIGHT, WRONG, attack, fill, fill_for_another_kernel

# In one process, and in the order of the file: the course goes on from test to test.
pytestmark = [pytest.mark.thorough, pytest.mark.long, pytest.mark.xdist_group("course")]

# Of a cell in the sandbox: what runs there, and what of the host can be read.
CONTAINED = "import os; print(sum(name.isdigit() for name in os.listdir('/proc')) < 5, os.path.exists('/etc/shadow'))"


@pytest.fixture(scope="module")
def place():
    with a_place("petri-course") as found:
        yield found


def begin(course, *assignments):
    """Makes assignments; and all are handed in by the first two students."""
    for assignment in assignments:
        course.nbgrader("generate_assignment", assignment)
    for assignment in ASSIGNMENTS:
        course.hand_in("right", assignment, fill(RIGHT))
        course.hand_in("wrong", assignment, fill_for_another_kernel(WRONG))
    return course


@pytest.fixture(scope="module")
def checked(place):
    """The course, as the README has it checked and an assignment made of it; what that has printed."""
    course = Course(place)
    return course, course.sh(commands.sh("examples/course/README.md", "Ten minutes", 2))


@pytest.fixture(scope="module")
def course(checked):
    return begin(checked[0], *ASSIGNMENTS[1:])


def grade(course, *assignments, student="*"):
    for assignment in assignments or ASSIGNMENTS:
        course.nbgrader("autograde", assignment, "--student", student)


def expected(*students):
    return {(student, assignment): points for student in students for assignment, points in POINTS[student].items()}


def errors(cell):
    return [output.ename for output in cell.outputs if output.output_type == "error"]


def test_solutions_of_the_course_pass_its_tests(checked):
    assert checked[1].count("Success! Your notebook passes all the tests.") == len(ASSIGNMENTS)


@pytest.fixture(scope="module")
def exchange(course, place):
    """Where nbgrader has put what students may fetch."""
    folder = place.folder / "exchange"
    folder.mkdir()
    folder.chmod(0o777)
    for assignment in ASSIGNMENTS:
        course.nbgrader("release_assignment", assignment, f"--Exchange.root={folder}")
    return folder


def test_released_notebooks_have_no_solutions_and_no_hidden_tests(exchange):
    for assignment in ASSIGNMENTS:
        [path] = (exchange / "first-steps" / "outbound" / assignment).glob("*.ipynb")
        text = path.read_text()
        assert "SOLUTION" not in text and "HIDDEN" not in text
        notebook = nbformat.read(path, as_version=4)
        answers = [cell for cell in notebook.cells if cell.id in RIGHT]
        assert len(answers) == 3
        assert all("# Your code here" in cell.source for cell in answers)


def test_what_students_can_check_passes_with_a_mistake_that_only_hidden_tests_find(course):
    for student in ("right", "wrong"):
        printed = course.nbgrader("validate", course.notebook("submitted", "group", student))
        assert "Success!" in printed
    printed = course.nbgrader("validate", course.notebook("release", "group"), check=False)
    assert "VALIDATION FAILED" in printed.upper()


def test_right_and_wrong_answers_get_their_points(course):
    course.sh(commands.sh("examples/course/README.md", "Ten minutes", 3))
    for name in ("grades.csv", "feedback/right/look/look.html"):  # as the README says
        assert (course.folder / name).exists()
    grade(course, *ASSIGNMENTS[1:])
    assert course.scores() == expected("right", "wrong")
    for cell in course.graded("right", "group").values():
        assert cell.cell_type == "markdown" or not errors(cell)
    assert errors(course.graded("wrong", "group")["group-draw-test"]) == ["AssertionError"]


def test_notebooks_are_graded_with_the_course_s_kernel_whatever_they_name(course):
    names = [
        nbformat.read(course.notebook(step, "look", "wrong"), as_version=4).metadata["kernelspec"]["name"]
        for step in ("submitted", "autograded")
    ]
    assert names == ["python3", "petri-classroom"]


def test_hostile_submission_gets_the_points_of_its_answers_and_harms_nobody(course, place):
    petri = place.folder / "bin" / "petri"
    config = place.folder / "class" / "petri.json"
    how = ["run", "--text", "--profile", "classroom", "--config", config, "--python", place.python]
    (place.folder / "probe.py").write_text(CONTAINED)
    printed = place.run(petri, *how, place.folder / "probe.py")
    assert "True False" in printed.splitlines(), printed  # a sandbox with a hole gets no hostile cell

    for assignment in ASSIGNMENTS:
        course.hand_in("hostile", assignment, attack(place.own))
    before = contents(place.folder / "class"), contents(course.folder / "source"), contents(course.folder / "submitted")
    neighbour = place.start("sleep", "infinity")  # of the same user
    try:
        grade(course, student="hostile")
        assert neighbour.poll() is None
    finally:
        neighbour.kill()
        neighbour.wait()
    after = contents(place.folder / "class"), contents(course.folder / "source"), contents(course.folder / "submitted")
    assert after == before
    assert course.scores() == expected("right", "wrong", "hostile")


def test_each_attack_ends_as_an_error_of_its_cell(course):
    cells = {id: cell for assignment in ASSIGNMENTS for id, cell in course.graded("hostile", assignment).items()}
    ends = {name: errors(cells[name]) for name in ATTACKS}
    assert ends == {name: [ename] for name, (_, _, ename) in ATTACKS.items()}
    assert errors(cells["look-mean"]) == ["CellCpuLimit"]
    assert errors(cells["group-draw"]) == ["CellMemoryLimit"]
    assert errors(cells["function-busiest-test"]) == ["CellCrashed"]
    assert HOSTILE.keys() == RIGHT.keys() <= cells.keys()


def test_another_grading_of_all_comes_out_the_same(course):
    course.nbgrader("autograde", "group", "--force")
    assert course.scores() == expected("right", "wrong", "hostile")


def test_feedback_tells_students_why(course):
    for assignment in ASSIGNMENTS:
        course.nbgrader("generate_feedback", assignment)
    feedback = course.folder / "feedback"
    pages = {student: (feedback / student / "look" / "look.html").read_text() for student in POINTS}
    assert "used more CPU time than its limit of 5 s" in pages["hostile"]
    assert "AssertionError" in pages["wrong"]
    assert "AssertionError" not in pages["right"]


def test_notebook_goes_to_a_student_and_back_through_the_exchange(course, exchange, place):
    home = place.folder / "home"
    how = ["--course=first-steps", f"--Exchange.root={exchange}"]
    for step in ("fetch_assignment", "submit"):
        place.run(place.python, "-m", "nbgrader", step, "look", *how, folder=home)
    course.nbgrader("collect", "look", f"--Exchange.root={exchange}")
    collected = course.notebook("submitted", "look", place.user.pw_name)
    assert collected.read_bytes() == course.notebook("release", "look").read_bytes()


@pytest.mark.xdist_group("course-beside")  # on its own: it waits for none of the others
def test_ipykernel_gives_the_same_points(place):
    beside = begin(Course(place, kernel="python3"), *ASSIGNMENTS)
    grade(beside)
    assert beside.scores() == expected("right", "wrong")
    assert beside.notebook("source", "look").read_text().count("python3") == 1
