"""A service that receives decisions, with the standard library and the client: each once, and no forged one.

The secret of the webhook is in WEBHOOK_SECRET.
"""

from __future__ import annotations

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from assent_client import WebhookVerificationError, webhooks

SEEN: set[str] = set()  # of a service: in its database


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = webhooks.unwrap(body, self.headers, os.environ["WEBHOOK_SECRET"])
        except WebhookVerificationError:
            self.send_error(400)
            return
        self.send_response(204)
        self.end_headers()
        if event.id not in SEEN:
            SEEN.add(event.id)
            print(event.type, event.data, flush=True)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 8700), Receiver).serve_forever()
