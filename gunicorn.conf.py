"""gunicorn's settings, for `make run` and for the containers alike.

One process with threads is the right shape here: DoltLite has one writer per file, and requests wait
for databases rather than for the processor. The worker imports the settings before anything imports
sqlite3, which is what DoltLite needs; so the application is not preloaded by the arbiter.
"""

import os
import signal

from gunicorn.workers.gthread import ThreadWorker


class Worker(ThreadWorker):
    def init_signals(self) -> None:
        """Leave Ctrl-C, which a terminal sends to every process, to the arbiter.

        It passes SIGQUIT on; arriving inside the handler of SIGINT, that took the thread pool's lock twice:
        one stop in 25 hung for the half minute until the arbiter killed the worker.
        """
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # In this process only: ready before the arbiter, which kills what is left when its own time is up
        # and reports a kill as "Perhaps out of memory?".
        self.cfg.set("graceful_timeout", graceful_timeout - 2)

    def run(self) -> None:
        """End in time although somebody's request never arrives in full.

        The threads that read from such clients wait for ever, and Python would wait for its threads.
        """
        super().run()
        if self.nr_conns > 0:
            self.log.info("Leaving %s unfinished connections", self.nr_conns)
            os._exit(0)


wsgi_app = "memory_app.wsgi"
bind = os.environ.get("ASSENT_BIND", "127.0.0.1:8000")
worker_class = Worker
workers = int(os.environ.get("ASSENT_WORKERS", "1"))
threads = int(os.environ.get("ASSENT_THREADS", "8"))
# The longest gunicorn allows: a search by GET carries its query here.
limit_request_line = 8190
# Requests take milliseconds; a container is given ten seconds to stop.
graceful_timeout = 9
loglevel = os.environ.get("ASSENT_LOG_LEVEL", "info").lower()
# Heartbeats go through a file; on a disk they can stall for longer than the timeout.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
control_socket_disable = True
