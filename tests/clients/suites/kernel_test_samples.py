"""jupyter_kernel_test, with every sample that it takes filled in. Run by test_suites.py for each kernel."""

import jupyter_kernel_test


class PythonTests(jupyter_kernel_test.KernelTests):
    kernel_name = "python3"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [
        {"text": "zi", "matches": {"zip"}},
        {"text": "isins", "matches": {"isinstance"}},
        {"text": "import collec", "matches": {"collections"}},
    ]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n", "%time 1", "a?"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2", "if True:", "%%timeit\n1", "a = [1,"]
    invalid_code_samples = ["import = 7q", "raise = 2", "a = 1)"]
    code_page_something = "zip?"
    code_generate_error = "raise ValueError('on purpose')"
    code_execute_result = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
        {"code": "from IPython.display import HTML\nHTML('<b>1</b>')", "mime": "text/html", "result": "<b>1</b>"},
    ]
    code_display_data = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))", "mime": "text/latex"},
        {"code": "from IPython.display import JSON, display; display(JSON({'a': 1}))", "mime": "application/json"},
        {"code": "from IPython.display import SVG, display; display(SVG('<svg></svg>'))", "mime": "image/svg+xml"},
    ]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class Welcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "python3"
    support_iopub_welcome = True
