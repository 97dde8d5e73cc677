"""Each service of docker-compose.yml, run by its own command, with real processes in place of containers."""

import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import environment
from tests.conftest import eventually, missing
from tests.deployment.containers import ROOT, SECRETS, Image, build, compose, interpolate
from tests.services import HOST, Services, find_dolt, free_ports, greets

pytestmark = pytest.mark.slow

server_leg = pytest.mark.skipif(environment.is_embedded(), reason="runs on the server leg")
HEADERS = {"Host": SECRETS["ASSENT_ALLOWED_HOSTS"], "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    return build(tmp_path_factory.mktemp("image"))


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Services]:
    started = Services(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def container(image: Image, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The environment of a service's container, with the addresses of this test's databases."""

    def make(service: str | None, **replaced: str) -> dict[str, str]:
        names = ("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL")
        addresses = {name: os.environ[name] for name in names if name in os.environ}
        return image.environment(service, ASSENT_DATA_DIR=str(tmp_path / "data"), **(addresses | replaced))

    return make


def service(name: str) -> Any:
    return compose()["services"][name]


def command_of(name: str) -> list[str]:
    return [interpolate(part) for part in service(name)["command"]]


def health_of(name: str) -> list[str]:
    kind, *rest = service(name)["healthcheck"]["test"]
    words = [interpolate(word) for word in rest]
    return ["sh", "-c", *words] if kind == "CMD-SHELL" else words


def start(processes: Services, image: Image, name: str, command: list[str], health: list[str], **options: Any) -> None:
    """Start a service by its command, and wait until its own health check says that it is there."""
    env = options["env"]
    processes.start(name, command, ready=lambda: image.run(health, env).returncode == 0, **{"cwd": image.app} | options)


@server_leg
def test_web_serves_pages_static_files_and_health(
    image: Image, processes: Services, container: Callable[..., dict[str, str]]
) -> None:
    (port,) = free_ports(1)
    env = container("web", ASSENT_BIND=f"{HOST}:{port}")
    health = health_of("web")
    assert image.run(health, env).returncode == 1, "nothing listens yet"
    start(processes, image, "web", command_of("web"), health, env=env)
    with httpx.Client(base_url=f"http://{HOST}:{port}", headers=HEADERS) as client:
        page = client.get("/sign-in/")
        assert page.status_code == 200
        assert "Secure" in page.headers["set-cookie"]
        stylesheet = re.search(r'href="(/static/[^"]+\.[0-9a-f]{12}\.css)"', page.text)
        assert stylesheet is not None, "static files are served under hashed names"
        assert client.get(stylesheet[1]).status_code == 200
        assert client.get("/readyz").status_code == 200
        assert client.get("/", headers={"Host": "elsewhere.example"}).status_code == 400


@server_leg
def test_worker_runs_tasks_and_beat_keeps_its_schedule(
    image: Image, processes: Services, container: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    from approvals.tasks import recover
    from memory_app.celery import app

    # A queue of its own: the other tests' worker would take the task.
    queue = f"{os.environ['REDIS_URL'].rpartition('/')[0]}/15"
    env = container("worker", HOSTNAME=socket.gethostname(), REDIS_URL=queue)
    start(processes, image, "worker", command_of("worker"), health_of("worker"), env=env)
    with app.connection_for_write(queue) as connection:
        app.send_task(recover.name, connection=connection)
    log = tmp_path / "worker.log"
    eventually(lambda: re.search(r"Task approvals\.recover\S* succeeded", log.read_text()), seconds=90)

    health = [word.replace("/tmp ", f"{tmp_path} ") for word in health_of("beat")]
    command = [word.replace("/tmp/", f"{tmp_path}/") for word in command_of("beat")]
    env = container("beat", REDIS_URL=queue)
    assert image.run(health, env).returncode == 1, "beat has not begun"
    start(processes, image, "beat", command, health, env=env)


@server_leg
def test_dolt_lets_the_one_user_in_who_can_do_everything_assent_needs(
    image: Image, processes: Services, container: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    dolt = find_dolt()
    if dolt is None:
        missing("dolt")
    assert dolt is not None
    (port,) = free_ports(1)
    config = tmp_path / "dolt.yaml"
    text = (ROOT / "deploy/dolt.yaml").read_text()
    config.write_text(text.replace("port: 3306", f"port: {port}").replace("host: 0.0.0.0", f"host: {HOST}"))
    data = tmp_path / "dolt"
    data.mkdir()
    env = {**container("dolt"), "DOLT_ROOT_PATH": str(tmp_path), "DOLT_DISABLE_EVENT_FLUSH": "true"}
    env["PATH"] = f"{Path(dolt).parent}{os.pathsep}{env['PATH']}"
    # As the image's entrypoint does: the addresses on the command line and the mounted file together…
    server = [dolt, "sql-server", f"--host={HOST}", f"--port={port}", f"--config={config}"]
    processes.start("dolt", server, ready=lambda: greets(port), env=env, cwd=data)
    # …and the users made from the environment.
    given = {key: interpolate(value) for key, value in service("dolt")["environment"].items()}
    database, user, password = given["DOLT_DATABASE"], given["DOLT_USER"], given["DOLT_PASSWORD"]
    client = [dolt, "--host", HOST, "--port", str(port), "--no-tls", "--user", "root", "--password"]
    root = given["DOLT_ROOT_PASSWORD"]
    for statement in (
        f"CREATE DATABASE `{database}`",
        f"CREATE USER '{user}'@'{given['DOLT_USER_HOST']}' IDENTIFIED BY '{password}'",
        f"GRANT USAGE ON *.* TO '{user}'@'{given['DOLT_USER_HOST']}'",
        f"GRANT ALL ON `{database}`.* TO '{user}'@'{given['DOLT_USER_HOST']}'",
    ):
        done = image.run([*client, root, "sql", "-q", statement], env)
        assert done.returncode == 0, done.stderr
    assert image.run([*client, "", "sql", "-q", "SELECT 1"], env).returncode != 0, "root has a password"

    health = [word.replace("--port 3306", f"--port {port}") for word in health_of("dolt")]
    assert image.run(health, env).returncode == 0
    env = container("migrate", MEMORY_DATABASE_URL=f"mysql://{user}:{password}@{HOST}:{port}/{database}")
    prepared = image.run(service("migrate")["command"], env)
    assert prepared.returncode == 0, prepared.stderr
    # The demo proposes, approves, rejects and edits: every verb Assent uses.
    story = image.run(["python", "manage.py", "demo"], env | {"ASSENT_DEBUG": "1"})
    assert story.returncode == 0, story.stderr


@server_leg
def test_redis_starts_with_its_command_and_answers_its_health_check(
    image: Image, processes: Services, container: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    if shutil.which("redis-server") is None:
        missing("redis-server")
    (port,) = free_ports(1)
    text = {key: interpolate(value) for key, value in service("redis")["environment"].items()}
    env = container(None) | text
    data = f"{tmp_path} --bind {HOST} --port {port}"
    command = [part.replace("/tmp/", f"{tmp_path}/").replace("/data", data) for part in command_of("redis")]
    health = [word.replace("redis-cli", f"redis-cli -p {port}") for word in health_of("redis")]
    start(processes, image, "redis", command, health, env=env, cwd=tmp_path)
    assert image.run(health, env | {"REDISCLI_AUTH": "another"}).returncode != 0
    assert image.run(health, container(None)).returncode != 0, "it has a password"
    assert (tmp_path / "redis.conf").stat().st_mode & 0o077 == 0
    assert list(tmp_path.glob("appendonlydir/*")), "what is queued survives a restart"


@pytest.mark.skipif(not environment.is_embedded(), reason="runs on the embedded leg")
def test_the_image_runs_by_itself_with_everything_embedded(
    image: Image, processes: Services, container: Callable[..., dict[str, str]]
) -> None:
    (port,) = free_ports(1)
    env = container(None, ASSENT_BIND=f"{HOST}:{port}", ASSENT_SECRET_KEY=SECRETS["ASSENT_SECRET_KEY"])
    assert image.run(["python", "manage.py", "prepare"], env).returncode == 0
    command, health = ["python", "-m", "memory_app.webserver"], ["python", "deploy/healthcheck.py"]
    start(processes, image, "web", command, health, env=env)
    assert httpx.get(f"http://{HOST}:{port}/readyz").status_code == 200
