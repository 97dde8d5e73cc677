"""gunicorn's settings, for `make run` and for the containers alike.

One process with threads is the right shape here: DoltLite has one writer per file, and requests wait
for databases rather than for the processor. The worker imports the settings before anything imports
sqlite3, which is what DoltLite needs; so the application is not preloaded by the arbiter.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # before gunicorn adds the folder it works in

from memory_app.configuration.environment import BadSetting, Environment
from memory_app.webserver import options

try:
    _options = options.read(Environment())
except BadSetting as error:
    sys.exit(f"\n{error}")  # it says what to do; gunicorn would print a traceback

wsgi_app = "memory_app.wsgi"
bind = _options.bind
worker_class = "memory_app.webserver.worker.Worker"
workers = _options.workers
threads = _options.threads
# Each is a file handle, and so is each large body that waits; a process often may have 1,024.
worker_connections = 500
# Through the kernel, a thread would wait for a client that does not read.
sendfile = False
# The longest gunicorn allows: a search by GET carries its query here.
limit_request_line = 8190
# Django decides whom to believe (ASSENT_TRUSTED_PROXIES). By default gunicorn takes SCRIPT_NAME, PATH_INFO and the
# scheme from the headers of whoever connects from this machine, be it through a proxy that passes on what it was sent.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
# Requests take milliseconds; a container is given ten seconds to stop.
graceful_timeout = 9
loglevel = _options.log_level.lower()
# Heartbeats go through a file; on a disk they can stall for longer than the timeout.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
control_socket_disable = True
