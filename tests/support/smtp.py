"""A mail server on loopback that takes mail, refuses some, puts some off, and dies in the middle when told to."""

import email
import email.policy
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage

from django.test import override_settings

from tests.support.receiver import at_work

BACKEND = "django.core.mail.backends.smtp.EmailBackend"


class MailServer(socketserver.ThreadingTCPServer):
    """What it was sent is in `mails`; each with its recipient.

    Attributes:
        refused: recipients answered 550, or another code.
        asked: set when the first client is there.
        may_speak: it says nothing to anybody until this is set, as it is from the start.
        dies_at: the command at which it closes the connection without a word: `DATA` before the mail, `.` with all of
            the mail read and not answered.
    """

    allow_reuse_address = daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        self.mails: list[tuple[str, EmailMessage]] = []
        self.refused: dict[str, str] = {}
        self.dies_at = ""
        self.asked, self.may_speak = threading.Event(), threading.Event()
        self.may_speak.set()
        super().__init__(("127.0.0.1", port), _SmtpSession)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _SmtpSession(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self.server.asked.set()
        self.server.may_speak.wait(30)
        self.say("220 here")
        recipient = ""
        while line := self.rfile.readline():
            command = line.decode().strip()
            verb = command[:4].upper()
            if verb == self.server.dies_at:
                return
            if verb == "RCPT":
                recipient = command.partition("<")[2].partition(">")[0]
                self.say(self.server.refused.get(recipient, "250 well"))
            elif verb == "DATA":
                self.say("354 go on")
                lines = [each.removeprefix(b".") for each in iter(self.rfile.readline, b".\r\n")]
                if self.server.dies_at == ".":
                    return
                mail = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
                self.server.mails.append((recipient, mail))
                self.say("250 taken")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 well")

    def say(self, words: str) -> None:
        self.wfile.write(words.encode() + b"\r\n")


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Run one, to which this process sends its mail."""
    with (
        MailServer() as server,
        at_work(server),
        override_settings(EMAIL_BACKEND=BACKEND, EMAIL_HOST="127.0.0.1", EMAIL_PORT=server.port),
    ):
        yield server
