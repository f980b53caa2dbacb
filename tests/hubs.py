"""A student at a browser, as JupyterHub and the server behind it see one: of tests/clients and tests/packages."""

import contextlib
import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import websocket

STUCK_S = 240  # not a measure of anything: how long to wait before a hub counts as stuck

# What tests replace in the course's petri.json: on a busy machine it takes long until a cell has had its time of a CPU.
PATIENT = ('"timeout": "30s"', '"timeout": "3m"'), ('"timeout": "60s"', '"timeout": "3m"')


def request(method, url, token=None, **body):
    """A request to the hub or to a server behind it; returns what the reply says."""
    headers = {"Authorization": f"token {token}"} if token else {}
    data = json.dumps(body).encode() if body else (b"" if method == "POST" else None)
    asked = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=STUCK_S) as reply:
        return json.loads(reply.read() or b"null")


def wait_for(condition, process):
    """What condition() is once it is true, while the process of the hub runs."""
    deadline = time.monotonic() + STUCK_S
    while True:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            if found := condition():
                return found
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)


def log_in(hub, name, password):
    """Fills in the form of the hub's first page; HTTPError where that is refused."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
    with browser.open(f"{hub.url}/hub/login", timeout=STUCK_S) as page:
        hidden = re.search(r'name="_xsrf"\s+value="([^"]+)"', page.read().decode())[1]
    form = urllib.parse.urlencode({"_xsrf": hidden, "username": name, "password": password}).encode()
    browser.open(f"{hub.url}/hub/login?next=%2Fhub%2Fhome", data=form, timeout=STUCK_S).close()


class Student:
    """Somebody at a browser who logs in. hub: an object that has its url and its process."""

    def __init__(self, hub, name, password="anything"):
        self.hub, self.name = hub, name
        log_in(hub, name, password)
        auth = {"username": name, "password": password}
        self.token = request("POST", f"{hub.url}/hub/api/users/{name}/tokens", auth=auth)["token"]
        self.server = f"{hub.url}/user/{name}/api"

    def ask(self, method, url, **body):
        return request(method, url, self.token, **body)

    def start(self):
        """The student's server, until it is there."""
        user = f"{self.hub.url}/hub/api/users/{self.name}"
        self.ask("POST", f"{user}/server")
        wait_for(lambda: self.ask("GET", user)["servers"].get("", {}).get("ready"), self.hub.process)
        return self

    def open(self):
        """A kernel of the course."""
        kernel = self.ask("POST", f"{self.server}/kernels", name="petri-classroom")
        url = f"{self.server}/kernels/{kernel['id']}/channels".replace("http", "ws", 1)
        header = [f"Authorization: token {self.token}"]
        self.socket = websocket.create_connection(url, header=header, timeout=STUCK_S)

    def run(self, code):
        """Runs a cell; returns its value as text, or how it failed."""
        sent = uuid.uuid4().hex
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        header = {"msg_id": sent, "msg_type": "execute_request", "session": sent, "username": self.name}
        header["version"] = "5.3"
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        self.socket.send(json.dumps(message))
        value, replied, idle = None, False, False
        while not (replied and idle):
            message = json.loads(self.socket.recv())
            if message["parent_header"].get("msg_id") != sent:
                continue
            content = message["content"]
            replied |= message["msg_type"] == "execute_reply"
            idle |= content.get("execution_state") == "idle"
            if message["msg_type"] == "execute_result":
                value = content["data"]["text/plain"]
            elif message["msg_type"] == "error":
                value = content["ename"]
        return value
