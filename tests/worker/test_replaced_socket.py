"""Each request may come on another socket, put under the same descriptor number while the worker waits."""

import socket

import pytest

from kernel_side import CONTROL_FD, Wire

# A thread takes the place of what the kernel does to a stopped worker: it puts the descriptor that
# it is sent under the number, and interrupts the main thread's read, which starts anew.
SWAPPER = """
import array, os, signal, socket, threading
side = socket.socket(socket.AF_UNIX)
side.connect({path!r})
def swap():
    main = threading.main_thread().ident
    while True:
        data, ancillary, _, _ = side.recvmsg(1, socket.CMSG_SPACE(4))
        if not data: return
        fd = array.array('i', ancillary[0][2])[0]
        os.dup2(fd, {fd})
        os.close(fd)
        signal.pthread_kill(main, signal.SIGINT)
        side.send(b'y')
threading.Thread(target=swap, daemon=True).start()
"""


@pytest.fixture
def swap(new_worker, label, tmp_path):
    """(worker, function that gives the waiting worker a new socket)."""
    worker = new_worker(label)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "side"))
        listener.listen()
        code = SWAPPER.format(path=str(tmp_path / "side"), fd=CONTROL_FD)
        assert worker.execute(code).reply["status"] == "ok"
        side, _ = listener.accept()

    def swap_socket():
        ours, theirs = worker.socketpair()
        socket.send_fds(side, [b"x"], [theirs.fileno()])
        assert side.recv(1) == b"y"
        theirs.close()
        worker.wire.socket.close()
        worker.wire = Wire(ours)

    with side:
        yield worker, swap_socket


def test_requests_on_a_new_socket_each_are_answered(swap):
    worker, swap_socket = swap
    for n in range(5):
        swap_socket()
        answer = worker.execute(f"print('print {n}')\ndisplay({n})\nimport sys; print('err', file=sys.stderr)")
        assert answer.order == [("stdout", f"print {n}\n"), ("display_data", str(n)), ("stderr", "err\n")]
        assert worker.execute("input()", answers=[str(n)]).result == f"'{n}'"


def test_socket_replaced_within_a_request_gets_the_answer(swap, tmp_path):
    # No parser's state and no copy of the descriptor: the answer goes where the number leads.
    worker, _ = swap
    ours, theirs = worker.socketpair()
    code = (
        "import array, os, socket\n"
        "_, ancillary, _, _ = box.recvmsg(1, socket.CMSG_SPACE(4))\n"
        f"os.dup2(array.array('i', ancillary[0][2])[0], {CONTROL_FD})\n"
        "display('on the new one')"
    )
    path = str(tmp_path / "box")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        worker.execute(f"import socket\nbox = socket.socket(socket.AF_UNIX); box.connect({path!r})")
        box, _ = listener.accept()
    old = worker.wire
    socket.send_fds(box, [b"x"], [theirs.fileno()])
    old.send({"type": "execute", "cell": 99, "code": code, "execution_count": 1})
    worker.wire = Wire(ours)
    assert worker.play().of("display_data")[0]["data"] == {"text/plain": "'on the new one'"}
    old.socket.close()
    box.close()


def test_threads_may_publish_while_the_socket_changes(swap):
    # Their output waits for the next request, and none of it goes out on a socket that is given up.
    worker, swap_socket = swap
    first = worker.execute(
        "import threading\n"
        "go = threading.Event()\n"
        "def chatter():\n"
        "    go.wait()\n"
        "    for i in range(200): display(i)\n"
        "thread = threading.Thread(target=chatter); thread.start(); go.set()"
    )
    shown = first.of("display_data")
    for _ in range(20):
        swap_socket()
        shown += worker.execute("pass").of("display_data")
    shown += worker.execute("thread.join()").of("display_data")
    numbers = [int(content["data"]["text/plain"]) for content in shown]
    assert numbers == list(range(200))
