# The course, for nbgrader: run it in this folder.
c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "first-steps"

# What students find in the place of a solution.
c.ClearSolutions.code_stub = {"python": "# Your code here\nraise NotImplementedError()"}

# More than the profile's ceiling: petri ends a cell that takes too long, and the rest of the notebook is graded.
c.ExecutePreprocessor.timeout = 120
c.ExecutePreprocessor.startup_timeout = 120
