"""docker-compose.yml keeps what the issue asks of it: pinned, checked, private, without default secrets."""

import re
import tomllib
from typing import Any

import pytest

from tests.deployment.containers import ROOT, compose, interpolate

pytestmark = pytest.mark.pure

SERVICES = {"proxy", "web", "worker", "beat", "migrate", "backup", "redis", "dolt", "postgres"}
TEXT = (ROOT / "docker-compose.yml").read_text()


def services() -> dict[str, Any]:
    found: dict[str, Any] = compose()["services"]
    assert set(found) == SERVICES
    return found


@pytest.mark.parametrize("name", sorted(SERVICES - {"migrate", "backup"}))
def test_every_service_that_stays_has_a_health_check_and_comes_back(name: str) -> None:
    assert services()[name]["healthcheck"]["test"]
    assert services()[name]["restart"] == "unless-stopped"


def test_nothing_starts_before_the_databases_answer_and_are_migrated() -> None:
    assert services()["migrate"]["depends_on"] == {
        "dolt": {"condition": "service_healthy"},
        "postgres": {"condition": "service_healthy"},
    }
    for name in ("web", "worker", "beat", "backup"):
        after = services()[name]["depends_on"]
        assert after["migrate"] == {"condition": "service_completed_successfully"}
        assert after["redis"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_images_are_pinned_and_no_container_can_take_the_whole_machine(name: str) -> None:
    assert services()[name]["mem_limit"]
    assert services()[name]["pids_limit"]
    _, _, tag = interpolate(services()[name]["image"]).partition(":")
    assert re.match(r"\d+\.\d+", tag), "a full version, so that two installations are the same"


def test_dolt_is_the_version_the_tests_run_on() -> None:
    version = re.search(r"^DOLT_VERSION=(\S+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert version is not None
    assert services()["dolt"]["image"] == f"dolthub/dolt-sql-server:{version[1]}"


def test_no_secret_has_a_default() -> None:
    for name, operator in re.findall(r"\$\{(\w+)(:?[-?+=]?)", TEXT):
        if re.search(r"PASSWORD|SECRET|KEY|TOKEN", name):
            assert operator == ":?", f"{name} has to be given"
    for name, service in services().items():
        for variable, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|TOKEN", variable):
                said = re.fullmatch(r"\$\{\w+:\?[^}]+\}", value) or value == ""  # kept from it
                assert said, f"{name}: {variable} is written down"


def test_the_example_names_everything_and_gives_no_secret() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    required = set(re.findall(r"\$\{(\w+):\?", TEXT))
    assert required <= set(given)
    assert set(given.values()) == {""}


def test_data_lives_in_named_volumes() -> None:
    named = set(compose()["volumes"])
    for name in ("redis", "dolt", "postgres"):
        sources = [volume.split(":")[0] for volume in services()[name]["volumes"]]
        assert named & set(sources), name
        for volume in services()[name]["volumes"]:
            source, _, rest = volume.partition(":")
            if source not in named:
                assert (ROOT / source).is_file()
                assert rest.endswith(":ro")


def test_a_backup_is_written_where_dolt_writes_too() -> None:
    backup, dolt = services()["backup"], services()["dolt"]
    assert backup["profiles"] == ["backup"], "it runs when it is asked for"
    assert "backups:/backups" in backup["volumes"]
    assert "backups:/backups" in dolt["volumes"]
    assert " /backups/" in backup["command"][-1]
    assert "./deploy/dolt-grants.sql:/docker-entrypoint-initdb.d/grants.sql:ro" in dolt["volumes"]
    version = re.match(r"postgres:(\d+)", services()["postgres"]["image"])
    assert version is not None
    assert f"postgresql-client-{version[1]} " in (ROOT / "Dockerfile").read_text(), "pg_dump of the server's version"


def test_only_nginx_is_reachable_and_only_from_this_machine() -> None:
    networks = compose()["networks"]
    assert networks["inside"] == {"internal": True}
    for name, service in services().items():
        if name == "proxy":
            assert service["ports"] == ["127.0.0.1:${ASSENT_PORT:-8000}:8081"]
            assert service["networks"] == ["inside", "front"]
        else:
            assert "ports" not in service
            assert service["networks"] == (["inside", "outside"] if name in ("web", "worker") else ["inside"])
    assert networks["front"] == {}, "whichever addresses are free"


def test_every_password_is_one_of_its_own_and_on_no_command_line() -> None:
    dolt = services()["dolt"]["environment"]
    assert dolt["DOLT_ROOT_PASSWORD"] != dolt["DOLT_PASSWORD"]
    assert "REDIS_PASSWORD" in services()["web"]["environment"]["REDIS_URL"]
    for name, service in services().items():
        words = [*service.get("command", []), *service.get("healthcheck", {}).get("test", [])]
        for word in words:
            # The shell's own `printf` and variables are not seen by others; an argument of a program is.
            said = re.sub(r"printf [^;]*;|^[A-Z_]+=\S+ ", "", word)
            assert not re.search(r"\$\{?\w*(PASSWORD|AUTH|SECRET)|--password|-a ", said), f"{name}: {word}"


def test_containers_have_no_more_rights_than_they_need() -> None:
    for name in ("proxy", "web", "worker", "beat", "migrate", "backup", "redis"):
        service = services()[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


#: Connections that one process holds for each of its threads, and beside them (docs/several-machines.md), by service.
HELD = {"dolt": ("Dolt", 2, 4), "postgres": ("PostgreSQL", 1, 12)}
#: Megabytes of a process after some thousand writes, without what search holds, and of the parent of Celery's children.
PROCESS, PARENT = 180, 125


def default_of(service: str, variable: str) -> int:
    """What a number is where `.env` does not say it."""
    said = re.fullmatch(r"\$\{\w+:-(\d+)\}", str(services()[service]["environment"][variable]))
    assert said is not None, variable
    return int(said[1])


def processes_of(service: str) -> int:
    if service == "web":
        return default_of("web", "ASSENT_WORKERS")
    (concurrency,) = (word for word in services()[service]["command"] if word.startswith("--concurrency="))
    return int(concurrency.partition("=")[2])


def test_the_servers_take_the_connections_of_all_processes_and_some_more() -> None:
    document = (ROOT / "docs/several-machines.md").read_text()
    allowed = {
        "dolt": re.search(r"max_connections: (\d+)", (ROOT / "deploy/dolt.yaml").read_text()),
        "postgres": re.search(r"max_connections=(\d+)", " ".join(services()["postgres"]["command"])),
    }
    webs, children, threads = processes_of("web"), processes_of("worker"), default_of("web", "ASSENT_THREADS")
    for service, (name, each, beside) in HELD.items():
        web, child, most = each * threads + beside, each + beside, allowed[service]
        assert most is not None
        formula = f"{each} × threads + {beside}" if each > 1 else f"threads + {beside}"
        total = webs * web + children * child
        assert f"| {name} | {formula} | {webs} × {web} + {children} × {child} = {total} | {most[1]} |" in document
        assert "are enough for five web processes of eight threads and two workers" in document
        assert max(total, 5 * web + 2 * children * child) <= 0.8 * int(most[1]), name


def test_each_process_has_memory_for_what_it_may_keep_for_searches() -> None:
    for service, parent in (("web", 0), ("worker", PARENT)):
        search = default_of(service, "ASSENT_SEARCH_MEMORY_MB")
        limit = int(services()[service]["mem_limit"].removesuffix("g")) * 1024
        (size,) = re.findall(r"^/tmp:.*size=(\d+)m$", "\n".join(services()[service]["tmpfs"]), re.MULTILINE)
        files = int(size) if service == "web" else 0  # bodies of requests
        assert parent + processes_of(service) * (PROCESS + search) + files <= limit, service
    total = sum(size_of(service["mem_limit"]) for name, service in services().items() if name not in COMMANDS)
    said = (ROOT / "docs/deploying.md").read_text()
    assert f"The limits add up to {total // 1024} GB" in said


def size_of(limit: str) -> int:
    """Megabytes."""
    return int(limit[:-1]) * (1024 if limit.endswith("g") else 1)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_log_grows_without_end(name: str) -> None:
    assert services()[name]["logging"]["options"] == {"max-size": "20m", "max-file": "5"}


ASSENT = ("web", "worker", "beat", "migrate", "backup")
COMMANDS = ("migrate", "backup")
#: What compose says whatever .env says, as docs/deploying.md lists it.
BY_COMPOSE = {
    *("MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL", "ASSENT_DATA_DIR"),
    *("ASSENT_CSRF_TRUSTED_ORIGINS", "ASSENT_BIND", "ASSENT_TRUSTED_PROXIES"),
}


@pytest.mark.parametrize("name", ASSENT)
def test_every_setting_of_the_document_reaches_the_containers(name: str) -> None:
    page = (ROOT / "docs/settings.md").read_text().partition("## Read outside the program")[0]
    settings = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))
    assert len(settings) > 60
    service = services()[name]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    given = service["environment"]
    reached = {each for each in settings if each not in given or f"${{{each}:" in str(given[each])}
    assert settings - reached <= BY_COMPOSE
    listed = (
        (ROOT / "docs/deploying.md").read_text().partition("Compose itself\n")[2].partition("whatever `.env` says")[0]
    )
    assert set(re.findall(r"`(\w+)`", listed)) == BY_COMPOSE
    assert given["DOLT_ROOT_PASSWORD"] == "", "what .env has for Dolt's own container"


def test_settings_with_a_default_of_compose_are_in_the_document() -> None:
    document = (ROOT / "docs/deploying.md").read_text().partition("Defaults of\nits own have")[2].partition("\n\n")[0]
    defaults = {
        found[1]: found[2]
        for name in ASSENT
        for value in services()[name]["environment"].values()
        if (found := re.fullmatch(r"\$\{(\w+):-(\d+)\}", str(value)))
    }
    assert dict(re.findall(r"`(\w+)` \((\d+)\)", document)) == defaults


def test_what_runs_once_is_not_asked_for_a_web_server() -> None:
    for name in COMMANDS:
        assert services()[name]["healthcheck"] == {"disable": True}


def test_no_container_leaves_a_volume_without_a_name() -> None:
    volumes = re.findall(r"^VOLUME (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for name in ASSENT:
        mounted = [each.split(":")[0] for each in services()[name]["tmpfs"]]
        assert set(volumes) <= set(mounted), name


def test_the_version_is_the_same_everywhere() -> None:
    versions = {
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]["version"]
        for folder in (".", "clients/python")
    }
    assert {services()[name]["image"] for name in ASSENT} == {f"assent:${{ASSENT_VERSION:-{versions.pop()}}}"}
    assert not versions
