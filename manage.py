#!/usr/bin/env python
"""Django's command line for Assent; `manage.py help` lists what it can do."""

import os
import sys
import uuid


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")
    import structlog
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from memory_app.configuration.environment import UMASK
    from memory_app.dolt.library import DoltLiteUnavailable

    if sys.argv[1:2] != ["collectstatic"]:  # which often runs as another user than the one that serves the files
        os.umask(UMASK)

    structlog.contextvars.bind_contextvars(command=" ".join(sys.argv[1:2]), request_id=uuid.uuid4().hex)
    try:
        execute_from_command_line(sys.argv)
    except (DoltLiteUnavailable, ImproperlyConfigured) as error:
        sys.exit(f"\n{error}")  # it says what to do; a traceback would bury that


if __name__ == "__main__":
    main()
