"""Mailing the link to choose a new password with: by a worker, by a thread of this process where there is none.

Never while the person who asked is kept waiting, since only for an account there is a mail to send.
"""

from __future__ import annotations

import queue
import threading
from typing import Never
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.db import connections

from memory_app.runtime.workers import NoWorker, enqueue

log = structlog.get_logger(__name__)

TASK = "approvals.send_password_link"

#: Mails that may wait here for a slow mail server; people ask again.
_MOST = 100

_waiting: queue.Queue[str] = queue.Queue(_MOST)
_starting = threading.Lock()
_thread: threading.Thread | None = None


def send_soon(email: str) -> None:
    """Enqueue a link for the account with this address, if there is one."""
    try:
        enqueue(TASK, email)
    except NoWorker:
        try:
            _waiting.put_nowait(email)
        except queue.Full:
            log.warning("password_mail_dropped", waiting=_MOST)
        _start()


def send(email: str) -> None:
    """Send the link to the account with this address, if there is one. It names the site's own address, never the
    Host of a request."""
    form = PasswordResetForm({"email": email})
    if not form.is_valid():
        return
    public = urlsplit(settings.PUBLIC_URL)
    form.save(
        domain_override=public.netloc,
        use_https=public.scheme == "https",
        email_template_name="registration/password_reset_email.txt",
        subject_template_name="registration/password_reset_subject.txt",
        extra_email_context={"public_url": settings.PUBLIC_URL},
    )


def _start() -> None:
    global _thread
    with _starting:
        if _thread is None or not _thread.is_alive():
            # A daemon: the process ends without waiting for a mail server.
            _thread = threading.Thread(target=_send_what_waits, name="password mail", daemon=True)
            _thread.start()


def _send_what_waits() -> Never:
    while True:
        email = _waiting.get()
        try:
            send(email)
        except Exception:  # the next one waits behind it
            log.exception("password_mail_failed")
        finally:
            connections.close_all()
            _waiting.task_done()
