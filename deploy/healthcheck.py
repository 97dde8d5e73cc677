"""Whether the web server of this container answers: exit 0 when `/healthz` does.

Django refuses host names it does not know, 127.0.0.1 among them on a public installation, so the first
allowed one is asked for.
"""

import os
import sys
import urllib.error
import urllib.request

SECONDS = 4


def main() -> int:
    port = os.environ.get("ASSENT_BIND", "127.0.0.1:8000").rpartition(":")[2]
    host = os.environ.get("ASSENT_ALLOWED_HOSTS", "").split(",")[0].strip().lstrip(".")
    headers = {"Host": host} if host not in ("", "*") else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/healthz", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):
            return 0
    except (urllib.error.URLError, TimeoutError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
