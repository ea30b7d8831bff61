"""A receiver of messages on this host, as a webhook is one."""

import json
import threading
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of what it imports itself
    import apprise

    apprise.Apprise().add("json://localhost")  # here, and not in the middle of a test that looks at warnings


class Receiver:
    """Remembers what it was sent.

    Attributes:
        status: What it answers.
        url: Of Apprise, with a token in its path that nobody may see.
    """

    def __init__(self, port):
        self.messages = []
        self.status = 200
        self.held = threading.Event()
        self.held.set()
        self.url = f"json://127.0.0.1:{port}/T0KEN-0f-the-receiver"

    @property
    def received(self):
        """Title and lines of each message."""
        return [(each["title"], each["message"].splitlines()) for each in self.messages]


@contextmanager
def receiving():
    """A receiver while the block lasts."""
    receiver = None

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.held.wait(30)
            receiver.messages.append(body)
            self.send_response(receiver.status)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.held.set()
        server.shutdown()
        server.server_close()
        thread.join()
