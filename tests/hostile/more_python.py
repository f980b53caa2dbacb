"""Cells that turn Python, IPython and the session's own process against the kernel."""

from corpus import BRIEF, case

CASES = [
    case("repr_hangs", "class A:\n    def __repr__(self):\n        while True: pass\nA()", "timeout", limits=BRIEF),
    case("repr_raises", "class A:\n    def __repr__(self): raise SystemExit\nA()", "ok error"),
    case("repr_is_no_text", "class A:\n    def __repr__(self): return 7\nA()", "ok error", "TypeError"),
    case("repr_is_broken_text", "class A:\n    def __repr__(self): return '\\ud800\\x00\\x1b[2J'\nA()", "ok"),
    case("repr_exits", "class A:\n    def __repr__(self): __import__('os')._exit(0)\nA()", "crash"),
    case("repr_html_is_no_text", "class A:\n    def _repr_html_(self): return {1: b'x'}\nA()", "ok"),
    case("mimebundle_of_anything", """
class A:
    def _repr_mimebundle_(self, **_): return {b"x": 1, "text/plain": object(), "application/json": {float("nan"): {1, 2}}}
A()
""", "ok error"),
    case("mimebundle_hangs", "class A:\n    def _repr_mimebundle_(self, **_):\n        while True: pass\nA()", "timeout", limits=BRIEF),
    case("getattr_answers_all", "class A:\n    def __getattr__(self, name): return A()\n    def __call__(self, *a, **k): return A()\nA()", "ok error"),
    case("getattr_hangs", "class A:\n    def __getattr__(self, name):\n        while True: pass\nA()", "timeout", limits=BRIEF),
    case("class_attribute_lies", "class A:\n    @property\n    def __class__(self): raise KeyboardInterrupt\nA()", "ok error"),
    case("error_text_raises", "class E(Exception):\n    def __str__(self): raise ValueError\nraise E", "error", "E ValueError"),
    case("error_text_hangs", "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E", "timeout", limits=BRIEF),
    case("error_text_is_no_text", "class E(Exception):\n    def __str__(self): return 3\nraise E", "error", "E TypeError"),
    case("error_text_is_huge", "raise ValueError('x' * (50 << 20))", "error crash timeout memory", "ValueError"),
    case("error_name_is_broken", "raise type('\\udfff\\x1b[31m' * 1000, (Exception,), {})", "error"),
    case("error_is_no_error", "raise 7", "error", "TypeError"),
    case("error_chain_without_end", """
error = ValueError()
for _ in range(5000):
    new = ValueError(); new.__cause__ = error; error = new
raise error
""", "error timeout crash memory", "ValueError RecursionError"),
    case("error_is_its_own_cause", "a = ValueError(); b = ValueError(); a.__cause__ = b; b.__cause__ = a\nraise a", "error timeout memory"),
    case("base_exception", "class B(BaseException): pass\nraise B", "error", "B"),
    case("keyboard_interrupt", "raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    case("generator_exit", "raise GeneratorExit", "error", "GeneratorExit"),
    case("exit_with_hostile_status", "class S:\n    def __str__(self): raise ValueError\nraise SystemExit(S())", "error", "SystemExit ValueError"),
    case("signal_handler_raises_late", """
import signal
def strike(*_): raise RuntimeError("struck")
signal.signal(signal.SIGALRM, strike)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
""", "ok error", restore="import signal; signal.signal(signal.SIGALRM, signal.SIG_DFL)"),
    case("del_hangs", "class D:\n    def __del__(self):\n        while True: pass\nD()\nNone", "timeout", limits=BRIEF),
    case("gc_callback_hangs", "import gc\ndef spin(*_):\n    while True: pass\ngc.callbacks.append(spin)\ngc.collect()", "timeout", limits=BRIEF),
    case("atexit_hangs_and_exit", "import atexit\ndef spin():\n    while True: pass\natexit.register(spin)\nraise SystemExit", "error", "SystemExit", restore="import atexit; atexit.unregister(spin)"),
    case("faulthandler_exits", "import faulthandler\nfaulthandler.dump_traceback_later(0.3, exit=True)\nwhile True: pass", "crash"),
    case("faulthandler_unregistered", "import faulthandler, signal\nfaulthandler.unregister(signal.SIGRTMAX - 1)\nwhile True: pass", "timeout crash", limits=BRIEF),
    case("refcount_of_none", "import ctypes\nctypes.memset(id(None), 0, 8)\n[None for _ in range(100)].clear()", "crash ok error", owns=True),
    case("none_overwritten", "import ctypes\nctypes.memset(id(None), 0, 16)", "crash timeout", limits=BRIEF),
    case("heap_overwritten", "import ctypes\nctypes.memset(id([]) & ~0xffff, 0x41, 65536)", "crash timeout error ok", limits=BRIEF, owns=True),
    case("everything_unmapped", """
import ctypes
libc = ctypes.CDLL(None)
for line in open("/proc/self/maps").read().splitlines():
    start, end = (int(part, 16) for part in line.split()[0].split("-"))
    if start < 1 << 47: libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start))
""", "crash"),
    case("nameless_pages_unmapped", """
import ctypes
libc = ctypes.CDLL(None)
for line in open("/proc/self/maps").read().splitlines():
    fields = line.split()
    start, end = (int(part, 16) for part in fields[0].split("-"))
    if len(fields) == 5 and end - start <= 65536: libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start))
""", "crash"),
    case("all_pages_protected", """
import ctypes
libc = ctypes.CDLL(None)
for line in open("/proc/self/maps").read().splitlines():
    fields = line.split()
    start, end = (int(part, 16) for part in fields[0].split("-"))
    if len(fields) == 5: libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 0)
""", "crash"),
    case("executable_pages_overwritten", """
import ctypes
for line in open("/proc/self/maps").read().splitlines():
    fields = line.split()
    start, end = (int(part, 16) for part in fields[0].split("-"))
    if len(fields) == 5 and "x" in fields[1]:
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), ctypes.c_size_t(end - start), 7)
        ctypes.memset(start, 0xf4, end - start)
""", "ok crash"),
    case("own_memory_file", """
with open("/proc/self/mem", "rb+", buffering=0) as memory:
    for line in open("/proc/self/maps").read().splitlines():
        fields = line.split()
        if len(fields) == 5 and "x" in fields[1]:
            memory.seek(int(fields[0].split("-")[0], 16))
            memory.write(b"\\xf4" * 4096)
""", "error", "OSError PermissionError"),
    case("nested_parentheses", "(" * 5000 + ")" * 5000, "error", "SyntaxError MemoryError RecursionError"),
    case("nested_unary", "eval('-' * 200000 + '1')", "error crash", "SyntaxError MemoryError RecursionError"),
    case("nul_in_code", "1\x00+ 1", "error", "SyntaxError ValueError"),
    case("large_code", "x = 1\n" * 150_000, "ok timeout"),
    case("code_over_its_limit", "#" * (1 << 21), "refused"),
    case("limit_over_its_ceiling", "1", "refused", limits={"processes": 1 << 20}),
    case("limits_that_are_none", "%%limits timeout=-1s\n1", "refused"),
    case("limits_in_the_code_over_the_ceiling", "%%limits memory=100000G\n1", "refused"),
    case("silent_kill", "import os; os.kill(os.getpid(), 9)", "crash", content={"silent": True}),
    case("expression_hangs", "def spin():\n    while True: pass", "timeout", content={"user_expressions": {"x": "spin()"}}, limits=BRIEF),
    case("expression_exits", "import os", "crash", content={"user_expressions": {"x": "os._exit(1)"}}),
    case("expression_is_huge", "1", "ok error crash", content={"user_expressions": {"x": "'x' * (20 << 20)", "y": "raise", "z": "\x00"}}),
    case("bash_kills_everybody", "%%bash\nkill -9 -1", "ok error crash", "CalledProcessError"),
    case("shell_floods", "!yes", "timeout", limits=BRIEF),
    case("exit_magic", "%exit", "ok error"),
    case("quit_called", "quit()", "ok error"),
    case("display_flood", "from IPython.display import display\nfor n in range(100_000): display(n)", "ok timeout", limits={"timeout": "4s"}),
    case("clear_flood", "from IPython.display import clear_output\nfor n in range(20_000): clear_output()", "ok timeout"),
    case("comm_flood", "from comm import create_comm\nfor n in range(5000): create_comm(target_name='none', data={'n': n})", "ok timeout"),
    case("page_of_fifty_megabytes", "get_ipython().payload_manager.write_payload({'source': 'page', 'data': {'text/plain': 'x' * (100 << 20)}, 'start': 0})", "ok crash memory error timeout", limits={"memory": "1G"}),
    case("stdout_of_any_bytes", "import os; os.write(1, bytes(range(256)) * 100); print('\\x00\\x1b[2J\\x07\\udcff')", "ok error", "UnicodeEncodeError"),
    case("stderr_flood", "import os\nwhile True: os.write(2, b'\\n' * 65536)", "timeout", limits=BRIEF),
    case("stdout_nonblocking", "import os\nos.set_blocking(1, False)\ntry:\n    while True: os.write(1, b'x' * 65536)\nexcept BlockingIOError: pass\nos.set_blocking(1, True)", "ok timeout error", limits=BRIEF),
    case("stdin_is_read", "import os, sys; print(repr(sys.stdin.read()), os.read(0, 1))", "ok error"),
    case("input_without_a_front_end", "input()", "error", "StdinNotImplementedError"),
    case("input_flood", "while True:\n    try: input()\n    except Exception: pass", "timeout", limits=BRIEF),
    case("builtins_replaced", "import builtins\nfor name in ('open', 'print', 'len', 'isinstance', 'getattr', '__import__', 'str', 'dict'): setattr(builtins, name, None)", "ok error crash timeout", owns=True, limits=BRIEF),
    case("modules_deleted", "import sys; sys.modules.clear()", "ok error crash timeout", owns=True, limits=BRIEF),
    case("path_deleted", "import sys; sys.path[:] = []; sys.meta_path[:] = []; sys.path_hooks[:] = []", "ok error", owns=True),
    case("environment_cleared", "import os; os.environ.clear()", "ok"),
    case("stdout_closed", "import sys; sys.stdout.close(); sys.stderr.close()", "ok error", owns=True),
    case("stdout_replaced", "import sys; sys.stdout = sys.stderr = sys.__stdout__ = None", "ok error", owns=True),
    case("json_replaced", "import json\njson.dumps = json.loads = json.JSONEncoder.encode = lambda *a, **k: 1 / 0", "ok error crash timeout", owns=True, limits=BRIEF),
    case("shell_replaced", "def spin(*a, **k):\n    while True: pass\nget_ipython().run_cell = get_ipython().__class__.run_cell = spin", "ok error", owns=True),
    case("worker_replaced", "import sys\nfor name, module in list(sys.modules.items()):\n    if name.startswith('petri_worker'): module.__dict__.clear()", "ok error crash timeout", owns=True, limits=BRIEF),
    case("tracing_hangs", "import sys\ndef spin(*_):\n    while True: pass\nsys.settrace(spin)\ndef f(): pass\nf()", "timeout", limits=BRIEF),
    case("tracing_stays", "import sys\ncount = 0\ndef trace(*_):\n    global count\n    count += 1\n    return trace\nsys.settrace(trace); sys.setprofile(trace)", "ok error", owns=True),
    case("namespace_reset", "%reset -f", "ok", owns=True),
    case("working_folder_deleted", "import os; os.mkdir('d'); os.chdir('d'); os.rmdir('../d')", "ok crash", restore="import os; os.chdir(_home)"),
    case("working_folder_far_away", "import os; os.chdir('/proc/self/task')", "ok crash", restore="import os; os.chdir(_home)"),
    case("working_folder_of_a_child", "import os, subprocess, time\nchild = subprocess.Popen(['sleep', '1000'])\nos.chdir(f'/proc/{child.pid}')", "ok crash", restore="import os; os.chdir(_home)"),
    case("umask", "import os; os.umask(0o777); os.mkdir('closed'); open('closed-file', 'w').close()", "ok"),
    case("deep_folders", "import os\nfor n in range(400): os.mkdir('d'); os.chdir('d')\nos.chdir(_home)", "ok"),
    case("deep_folders_again", "import os\nos.makedirs('/'.join('d' * 300))", "ok", then="import os; os.makedirs('/'.join('d' * 320)); open('/'.join('d' * 320) + '/f', 'w').close()"),
    case("names_of_any_bytes", "import os\nfor n in range(1, 256):\n    if n != 47: open(bytes([n]) + b'\\n\\xff', 'w').close()", "ok"),
    case("whiteout", "import os; os.mknod('host.txt.gone', 0o020666, 0)", "error", "PermissionError"),
    case("whiteout_by_mknodat", "import ctypes; print(ctypes.CDLL(None).mknodat(-100, b'host.txt2', 0o020666, 0))", "ok", stdout="-1"),
    case("overlay_marks", "import os\nos.mkdir('m')\nfor name in ('opaque', 'redirect', 'metacopy', 'origin', 'whiteout'):\n    try: os.setxattr('m', 'user.overlay.' + name, b'y')\n    except OSError as error: print(name, error.errno)", "ok"),
    case("overlay_redirect_outside", "import os\nos.mkdir('m')\nos.setxattr('m', 'user.overlay.redirect', b'/../../../../etc')", "error", "OSError"),
    case(
        "large_file_behind_a_shut_way",
        "import os\nos.mkdir('/tmp/shut'); kept = open('/tmp/shut/large', 'wb'); kept.truncate(300 << 20); os.chmod('/tmp/shut', 0)",
        "ok",
        restore="os.chmod('/tmp/shut', 0o700); os.remove('/tmp/shut/large'); os.rmdir('/tmp/shut'); kept.close()",
    ),
    case(
        "read_only_file_without_a_name",
        "import os\nopen('/tmp/gone', 'w').write('before'); kept = open('/tmp/gone'); os.remove('/tmp/gone')",
        "ok",
        then="open(f'/proc/self/fd/{kept.fileno()}', 'w').write('after'); assert kept.read() == 'after'; kept.close()",
    ),
    case("hard_links", "import os\nopen('one', 'w').close()\nfor n in range(2000): os.link('one', f'link-{n}')", "ok"),
    case("hard_link_to_the_hosts", "import os; os.link('host.txt', 'mine'); open('mine', 'w').write('changed')", "ok error", "OSError PermissionError"),
    case("host_file_removed_and_made", "import os; os.remove('host.txt'); os.mkdir('host.txt'); open('host.txt/x', 'w').close()", "ok", restore="import os, shutil; shutil.rmtree('host.txt')"),
    case("sparse_and_full", "import os\nwith open('s', 'wb') as file:\n    os.truncate(file.fileno(), 1 << 40)\n    os.posix_fallocate(file.fileno(), 0, 1 << 40)", "error", "OSError"),
    case("link_loop", "import os; os.symlink('a', 'b'); os.symlink('b', 'a'); open('a')", "error", "OSError"),
    case("link_out", "import os; os.symlink('/proc/1/root/etc', 'e'); os.listdir('e')", "error", "PermissionError FileNotFoundError"),
    case("module_in_the_way", "for name in ('json', 'os', 'IPython', 'traceback', 'random'): open(name + '.py', 'w').write('1/0')", "ok"),
]
