"""`python -m memory_app.webserver`: what `manage.py serve` and the containers run."""

from memory_app.webserver.server import main

main()
