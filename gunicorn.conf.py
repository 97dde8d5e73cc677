"""gunicorn's settings, for `make run` and for the containers alike.

One process with threads is the right shape here: DoltLite has one writer per file, and requests wait
for databases rather than for the processor. The worker imports the settings before anything imports
sqlite3, which is what DoltLite needs; so the application is not preloaded by the arbiter.
"""

import os

wsgi_app = "memory_app.wsgi"
bind = os.environ.get("ASSENT_BIND", "127.0.0.1:8000")
worker_class = "gthread"
workers = int(os.environ.get("ASSENT_WORKERS", "1"))
threads = int(os.environ.get("ASSENT_THREADS", "8"))
loglevel = os.environ.get("ASSENT_LOG_LEVEL", "info").lower()
# Heartbeats go through a file; on a disk they can stall for longer than the timeout.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
control_socket_disable = True
