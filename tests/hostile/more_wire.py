"""Cells that speak on the control socket themselves, or take it away."""

from corpus import BRIEF, case

# What such a cell needs: frames as the worker writes them.
FRAMES = """
import json, os, socket, struct
def frame(message, buffers=(), lengths=None):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    lengths = [len(buffer) for buffer in buffers] if lengths is None else lengths
    return struct.pack(f"<{2 + len(lengths)}I", len(text), len(lengths), *lengths) + text + b"".join(buffers)
def send(data):
    while data:
        data = data[os.write(3, data):]
def publish(msg_type="stream", seq=1, **content):
    return {"type": "publish", "seq": seq, "msg_type": msg_type, "content": content, "metadata": {}}
def spin():
    while True: pass
"""


def forged(name, code, outcomes="crash", **fields):
    # One that must end in another way gets the time that a busy machine needs for it.
    limits = BRIEF if "timeout" in outcomes.split() else {}
    return case(name, FRAMES + code, outcomes, limits=limits, **fields)


CASES = [
    forged("frame_of_four_gigabytes", "send(struct.pack('<II', 0xffffffff, 0) + b'{' * 4096); spin()"),
    forged("frame_of_many_buffers", "send(struct.pack('<II', 2, 0xffffffff) + b'{}' * 4096); spin()"),
    forged("frame_of_huge_buffers", "send(frame({'type': 'sync', 'seq': 1}, lengths=[0xffffffff] * 4)); spin()"),
    forged("frame_of_nothing", "send(struct.pack('<II', 0, 0) * 1000); spin()"),
    forged("frame_of_no_json", "send(frame(b'\\xff\\xfe{not json')); spin()"),
    forged("frame_of_deep_json", "send(frame(b'[' * 1000000)); spin()"),
    forged("frame_of_deep_content", "send(frame(b'{\"type\":\"publish\",\"seq\":1,\"msg_type\":\"stream\",\"content\":' + b'{\"a\":' * 100000 + b'1' + b'}' * 100001)); spin()"),
    forged("frame_of_numbers", "send(frame(b'{\"type\":\"sync\",\"seq\":' + b'9' * 100000 + b'}')); spin()", "crash"),
    forged("frame_of_many_values", "send(frame(b'{\"type\":\"publish\",\"seq\":1,\"msg_type\":\"display_data\",\"metadata\":{},\"content\":{\"data\":{\"a/b\":[' + b'{},' * (15 << 20) + b'1]}}}')); spin()"),
    forged("frame_of_nul_and_surrogates", "send(frame(b'{\"type\":\"publish\",\"seq\":1,\"msg_type\":\"display_data\",\"metadata\":{},\"content\":{\"data\":{\"text/plain\":\"\\\\u0000\\\\ud800\"},\"metadata\":{}}}')); spin()", "timeout crash"),
    forged("frame_of_no_type", "send(frame({})); spin()"),
    forged("frame_of_unknown_type", "send(frame({'type': 'execute'})); spin()"),
    forged("frame_ready", "send(frame({'type': 'ready'})); spin()"),
    forged("frame_hello", "send(frame({'type': 'hello', 'language_info': {}, 'banner': 'x'})); spin()"),
    forged("frame_half", "send(frame({'type': 'sync', 'seq': 1})[:-3]); spin()", "timeout"),
    forged("publish_of_a_reply", "send(frame(publish('execute_reply', status='ok'))); spin()"),
    forged("publish_of_a_status", "send(frame(publish('status', execution_state='idle'))); spin()"),
    forged("publish_of_a_shutdown", "send(frame(publish('shutdown_reply', restart=False))); spin()"),
    forged("publish_of_a_debugger", "send(frame(publish('debug_event'))); spin()"),
    forged("publish_of_heavy_metadata", "send(frame({**publish('clear_output', wait=True), 'metadata': {'m': 'x' * (40 << 20)}})); spin()", "timeout"),
    forged("publish_of_many_comms", "data = b''.join(frame(publish('comm_open', comm_id=str(n) + 'x' * 200, target_name='y' * 256)) for n in range(5000))\nwhile True: send(data)", "timeout crash"),
    forged("publish_of_tiny_streams", "data = frame(publish(name='stdout', text='x')) * 1000 + frame(publish(name='stderr', text='x')) * 1000\nwhile True: send(data)", "timeout crash"),
    forged("publish_for_another_cell", "send(frame({**publish(name='stdout', text='forged'), 'parent': 2 ** 62})); send(frame({**publish(name='stdout', text='forged'), 'parent': -1})); spin()", "timeout crash"),
    forged("publish_of_wrong_kinds", "send(frame({**publish(), 'content': 7, 'metadata': 'x'})); spin()"),
    forged("publish_flood_unread", "data = frame(publish(name='stdout', text='x' * 1000)) * 50\nwhile True: send(data)", "timeout crash"),
    forged("sync_flood_unread", "data = frame({'type': 'sync', 'seq': 1}) * 1000\nwhile True: send(data)", "timeout crash"),
    forged("input_not_allowed", "send(frame({'type': 'input', 'seq': 1, 'prompt': 'password', 'password': True})); spin()"),
    forged("input_twice", "for _ in range(2): send(frame({'type': 'input', 'seq': 1, 'prompt': '', 'password': False}))\nspin()", content={"allow_stdin": True}),
    forged("done_of_wrong_kind", "send(frame({'type': 'done', 'reply': 7})); spin()"),
    forged("done_with_any_reply", "send(frame({'type': 'done', 'reply': {'status': 'happy', 'payload': {'x': 1}, 'user_expressions': 5, 'ename': 7, 'execution_count': 'x', 'traceback': 3}})); spin()", "error ok crash", owns=True),
    forged("done_with_payloads", "send(frame({'type': 'done', 'reply': {'status': 'ok', 'payload': [{'source': 'edit_magic', 'filename': '\";touch x;\"'}, {'source': 'ask_exit', 'keepkernel': False}, {'source': 'set_next_input', 'text': 'x' * (2 << 20)}] * 8}})); spin()", "ok", owns=True),
    forged("done_claims_a_limit", "send(frame({'type': 'done', 'reply': {'status': 'error', 'ename': 'KeyboardInterrupt', 'evalue': '', 'traceback': []}})); spin()", "error", owns=True),
    forged("done_then_more", "send(frame({'type': 'done', 'reply': {'status': 'ok'}}) + frame(publish(name='stdout', text='late')) * 100)\nspin()", "ok", owns=True),
    forged("done_twice", "send(frame({'type': 'done', 'reply': {'status': 'ok'}}) * 2)", "ok", owns=True),
    forged("done_by_a_child", "if os.fork() == 0:\n    send(frame({'type': 'done', 'reply': {'status': 'ok'}}))\n    os._exit(0)\nos.wait()\nspin()", "ok", owns=True),
    forged("huge_display", "send(frame(publish('display_data', data={'text/plain': 'x' * (20 << 20)}, metadata={}))); spin()", "timeout crash"),
    forged("descriptors_passed", "socket.socket(fileno=os.dup(3)).sendmsg([frame({'type': 'sync', 'seq': 1})], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('8i', *[1] * 8))]); spin()", "timeout crash"),
    forged("control_shut_down", "socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RDWR); spin()"),
    forged("control_shut_for_writing", "socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_WR)"),
    forged("control_never_read", "socket.socket(fileno=os.dup(3)).setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1); spin()", "timeout"),
    forged("control_nonblocking", "os.set_blocking(3, False)", "ok error crash timeout"),
    *(forged(f"close_{fd}", f"os.close({fd})", "ok error crash") for fd in (0, 1, 2, 4, 5)),
    forged("close_3", "os.close(3)"),
    forged("close_3_and_stay", "os.close(3); spin()"),
    forged("close_all", "os.closerange(0, 4096)"),
    forged("null_over_3", "os.dup2(os.open('/dev/null', os.O_RDWR), 3)"),
    forged("stdout_over_3", "os.dup2(1, 3)"),
    forged("pair_over_3", "a, b = socket.socketpair(); os.dup2(a.fileno(), 3); a.detach(); b.detach()", "crash timeout"),
    forged("memfd_over_all", "m = os.memfd_create('x')\nfor fd in range(6): os.dup2(m, fd)", "crash timeout"),
    forged("control_in_a_child_after_the_end", "if os.fork() == 0:\n    while True:\n        try: os.write(3, b'late' * 100)\n        except OSError: pass", "ok crash timeout"),
]
