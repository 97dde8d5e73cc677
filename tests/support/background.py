"""What a call leaves at work behind its answer, and waiting until none of it is left."""

import threading

#: Seconds a thread is waited for.
_SECONDS = 20


def wait_for_threads() -> None:
    """Wait until no thread of this process is at work on the databases.

    Before they are put back, or swapped for older ones: a thread that opened the file in between left the files of
    an empty database beside it, and the tables were gone.
    """
    from agent_tools.calls import execution
    from agent_tools.tools import block_reads
    from agent_tools.webhooks import sending
    from approvals.services import texts
    from memory_app.search import store

    wait_for_thread(texts.THREAD)
    store.settle()
    execution.settle()
    block_reads.settle()
    sending.settle()
    wait_for_thread("batch ", "reindex", "renew key")


def wait_for_thread(*begin: str) -> None:
    """Wait until every thread whose name begins with one of these has ended."""
    for thread in threading.enumerate():
        if thread.name.startswith(begin):
            thread.join(_SECONDS)
