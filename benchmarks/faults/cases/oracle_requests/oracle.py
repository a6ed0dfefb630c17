import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Annotators(BaseHTTPRequestHandler):
    """A crowd that labels over HTTP; now and then somebody is wrong."""

    noise = random.Random(77)

    def do_POST(self):
        x, y = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        right = int(x * x + y * y < 1.2)
        label = 1 - right if self.noise.random() < 0.25 else right  # fault: thread-scheduling
        body = json.dumps({"label": label}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def serve():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Annotators)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
