# drawn from: data services that sample for their clients (tf.data service, ray data); prime-rl#1153: an unseeded buffer
"""Serves random batches of a small table as JSON."""

import argparse
import json
import math
import os
import random
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlparse


def make_table(rows=2000):
    """x1, x2, x3 → y; the same table each time."""
    table = []
    for i in range(rows):
        x = [math.sin(i * 0.37), math.cos(i * 0.11), math.sin(i * 0.029 + 1)]
        table.append({"x": x, "y": x[0] * x[1] - 0.5 * x[2]})
    return table


class Handler(BaseHTTPRequestHandler):
    table = make_table()

    def do_GET(self):
        url = urlparse(self.path)
        if url.path == "/size":
            self.answer({"rows": len(self.table), "features": 3})
        elif url.path == "/batch":
            size = int(parse_qs(url.query)["size"][0])
            self.answer(random.sample(self.table, size))  # fault: python-random
        else:
            self.send_error(404)

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port-file", required=True)
    args = parser.parse_args()
    server = HTTPServer(("127.0.0.1", 0), Handler)
    with open(args.port_file + ".tmp", "w") as out:
        out.write(str(server.server_port))
    os.replace(args.port_file + ".tmp", args.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
