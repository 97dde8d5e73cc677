"""A setting that cannot be used stops the start with its name; misspelt ones are logged; secrets in files."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from memory_app.configuration.environment import BadSetting, Environment
from memory_app.settings import env

pytestmark = [pytest.mark.slow, pytest.mark.pure]

ROOT = Path(__file__).resolve().parents[2]

#: What is refused besides what the limits say that `docs/settings.md` lists: of texts, and of what is nearly right.
REFUSED: dict[str, tuple[str, ...]] = {
    "ASSENT_DATA_DIR": ("/dev/null/here",),
    "ASSENT_DEBUG": ("2",),
    "ASSENT_SECRET_KEY": ("abc",),
    "ASSENT_TEXT_KEY": ("abc", "00" * 31, "not hexadecimal, and no base64 either"),
    "ASSENT_PUBLIC_URL": ("assent.example.org", "ftp://assent.example.org", "https://", "https://host:port"),
    "ASSENT_ALLOWED_HOSTS": ("https://assent.example.org",),
    "ASSENT_CSRF_TRUSTED_ORIGINS": ("assent.example.org",),
    "ASSENT_EMAIL_URL": ("mail.example.org", "imap://mail.example.org"),
    "ASSENT_EMAIL_FROM": ("nobody",),
    "MEMORY_DATABASE_URL": ("banana", "postgres://u:p@h/n"),
    "DATABASE_URL": ("banana", "mysql://u:p@h/n"),
    "ASSENT_MEMORY_SERVERS": ("banana", "a=postgres://u:p@h/", "a=mysql://h/,a=mysql://h/", "A=mysql://h/"),
    "REDIS_URL": ("banana", "http://h"),
    "ASSENT_EMBEDDER": ("openai",),
    "ASSENT_EMBEDDER_URL": ("banana",),
    "ASSENT_COSINE_FLOOR": ("-0.1", "1.1", "nan"),
    "MEMORIES_BUDGET": ("1_000", "1.5"),
    "MEMORIES_FILTER_TYPES": ("banana", "fix,banana"),
    "ASSENT_TOOL_TIMEOUT": ("inf",),
    "ASSENT_WEBHOOK_ALLOWED_NETWORKS": ("banana", "10.0.0.1/8", "10.0.0.0/8;10.1.0.0/16"),
    "ASSENT_BIND": ("banana", "127.0.0.1:port", "127.0.0.1:70000"),
    "ASSENT_OIDC_URL": ("banana", "http://login.example.org", "https://login.example.org"),
    "ASSENT_SAML_METADATA_URL": ("banana", "http://idp.example.org/metadata", "https://idp.example.org/metadata"),
    "ASSENT_SAML_ENTITY_ID": ("https://idp.example.org",),
    "ASSENT_LOCAL_SIGN_IN": ("off",),
    "ASSENT_SENTRY_DSN": ("banana", "ftp://key@h/1"),
    "ASSENT_METRICS_BIND": ("9100", "127.0.0.1:70000"),
}
#: Any text will do.
FREE = {
    *("ASSENT_EMBEDDER_MODEL", "ASSENT_EMBEDDER_KEY", "ASSENT_METRICS_TOKEN", "MEMORIES_FILTER_TAGS"),
    *("ASSENT_OIDC_CLIENT_ID", "ASSENT_OIDC_CLIENT_SECRET", "ASSENT_OIDC_NAME", "ASSENT_OIDC_DOMAINS"),
    *("ASSENT_OIDC_USERNAME_CLAIM", "ASSENT_OIDC_SECOND_FACTOR", "ASSENT_ERASED_LIST"),
}

#: Reads the settings once for each of the environments it is given, and says what each came to.
_READ_ALL = """
import json, os, runpy, sys
from django.core.exceptions import ImproperlyConfigured
plain = dict(os.environ)
for given in json.load(sys.stdin):
    os.environ.clear(); os.environ.update(plain | given)
    try:
        found = runpy.run_path("memory_app/settings.py")
        print(json.dumps({name: found[name] for name in ("SECRET_KEY", "UNKNOWN_SETTINGS", "PENDING_CAP")}))
    except ImproperlyConfigured as error:
        print(json.dumps(str(error)))
"""
OURS = ("ASSENT_", "MEMORIES_", "MEMORY_DATABASE_URL", "DATABASE_URL", "REDIS_URL")


@pytest.fixture
def plain(tmp_path: Path) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return others | {
        "ASSENT_SECRET_KEY": "a-key-for-this-test-0123456789-abcdefghijk",
        "ASSENT_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPATH": str(ROOT),
    }


def run(variables: dict[str, str], *arguments: str, input: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, input=input, capture_output=True, text=True, timeout=120)


def read_settings(plain: dict[str, str], *given: dict[str, str]) -> list[dict[str, object] | str]:
    done = run(plain, "-c", _READ_ALL, input=json.dumps(given))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def outside(allowed: str) -> list[str]:
    """Return what is none of the `allowed` words, or no number, one below and one above."""
    if not allowed or allowed.startswith(("words", "networks")):
        return []
    if not (span := re.fullmatch(r"(?:from|of) (\S+) (?:to (\S+)|or more)", allowed)):
        return ["banana"]
    above = [int(span[2]) + 1] if span[2] else []
    return ["x", *map(str, [int(float(span[1])) - 1, *above])]


def wrong_values() -> Iterator[tuple[str, str]]:
    for name, reading in env.readings.items():
        values = [*outside(reading.allowed), *REFUSED.get(name, ())]
        assert bool(values) is (name not in FREE), f"say in REFUSED what {name} may not be"
        yield from ((name, value) for value in values)


def test_each_setting_with_a_wrong_value_stops_the_start_with_its_name(plain: dict[str, str]) -> None:
    cases = [*wrong_values()]
    assert len(cases) > 120
    came = read_settings(plain, *({name: value} for name, value in cases))
    assert len(came) == len(cases)
    for (name, value), said in zip(cases, came, strict=True):
        assert isinstance(said, str), f"{name}={value} was taken"
        assert name in said, said


def test_a_message_names_the_value_and_what_is_allowed(plain: dict[str, str]) -> None:
    said = read_settings(
        plain, {"MEMORIES_FILTER_TYPES": "banana"}, {"ASSENT_COSINE_FLOOR": "7"}, {"MEMORIES_INJECT": "bogus"}
    )
    assert str(said[0]).startswith("MEMORIES_FILTER_TYPES is 'banana'")
    assert "lesson_learned" in str(said[0])
    assert said[1] == "ASSENT_COSINE_FLOOR is '7': it has to be a number from 0 to 1."
    assert said[2] == "MEMORIES_INJECT is 'bogus': it has to be auto, manual or none."


def test_a_password_in_an_address_is_not_repeated(plain: dict[str, str]) -> None:
    for said in read_settings(plain, {"DATABASE_URL": "mysql://u:hunter2@h/n"}, {"REDIS_URL": "redis//:hunter2@h"}):
        assert "hunter2" not in str(said)


SAML = {
    "ASSENT_SAML_METADATA_URL": "https://idp.school.example/metadata",
    "ASSENT_SAML_ENTITY_ID": "https://idp.school.example/saml",
}


def test_saml_without_its_packages_is_a_sentence_and_with_them_a_provider(
    plain: dict[str, str], tmp_path: Path
) -> None:
    (came,) = read_settings(plain, SAML)
    if find_spec("onelogin"):
        pytest.skip("its packages are installed here")
    assert str(came).startswith("ASSENT_SAML_ENTITY_ID needs packages that are not installed")
    (tmp_path / "onelogin").mkdir()
    code = "from memory_app import settings as s; print(s.SOCIALACCOUNT_PROVIDERS['saml']['APPS'], s.INSTALLED_APPS)"
    done = run(plain | SAML | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "'provider_id': 'idp.school.example-saml'" in done.stdout
    assert "'metadata_url': 'https://idp.school.example/metadata'" in done.stdout
    assert "'want_assertion_signed': True" in done.stdout
    assert "allauth.socialaccount.providers.saml" in done.stdout


def test_an_empty_value_counts_as_not_set(plain: dict[str, str]) -> None:
    (came,) = read_settings(plain, dict.fromkeys(env.readings.keys() - {"ASSENT_SECRET_KEY", "ASSENT_DATA_DIR"}, ""))
    assert isinstance(came, dict), came
    assert came["PENDING_CAP"] == 20


def test_misspelt_names_are_found_with_the_nearest_known_one(plain: dict[str, str]) -> None:
    given = {"MEMORIES_FILTR_TYPES": "fix", "ASSENT_SECRET_KEY_FIEL": "x", "ASSENT_QQQ": "1", "ASSENT_PORT": "80"}
    (came,) = read_settings(plain, given)
    assert came["UNKNOWN_SETTINGS"] == [
        ["ASSENT_QQQ", ""],
        ["ASSENT_SECRET_KEY_FIEL", "ASSENT_SECRET_KEY_FILE"],
        ["MEMORIES_FILTR_TYPES", "MEMORIES_FILTER_TYPES"],
    ]


def test_the_log_says_it_when_the_program_starts(plain: dict[str, str]) -> None:
    done = run(plain | {"MEMORIES_FILTR_TYPES": "fix"}, "manage.py", "check")
    assert done.returncode == 0, done.stderr
    assert "unknown_setting" in done.stderr
    assert "MEMORIES_FILTER_TYPES" in done.stderr


def test_the_web_server_and_every_command_stop_with_one_sentence(plain: dict[str, str]) -> None:
    for command in (("manage.py", "check"), ("-m", "memory_app.webserver")):
        done = run(plain | {"ASSENT_THREADS": "many"}, *command)
        assert done.returncode == 1
        assert done.stderr.strip() == "ASSENT_THREADS is 'many': it has to be a whole number from 1 to 1000."


# -- secrets from files ---------------------------------------------------------------------------


def test_a_secret_comes_from_a_file_without_the_newline_at_its_end(plain: dict[str, str], tmp_path: Path) -> None:
    key = "from-a-file-0123456789-abcdefghijklmnop"
    (tmp_path / "key").write_text(key + "\n")
    (came,) = read_settings(plain, {"ASSENT_SECRET_KEY": "", "ASSENT_SECRET_KEY_FILE": str(tmp_path / "key")})
    assert came["SECRET_KEY"] == key


def test_every_secret_may_come_from_a_file() -> None:
    # They may hold passwords.
    urls = {"MEMORY_DATABASE_URL", "ASSENT_MEMORY_SERVERS", "DATABASE_URL", "REDIS_URL", "ASSENT_EMAIL_URL"}
    secrets = urls | {"ASSENT_SECRET_KEY", "ASSENT_EMBEDDER_KEY", "ASSENT_METRICS_TOKEN", "ASSENT_SENTRY_DSN"}
    secrets |= {"ASSENT_OIDC_CLIENT_SECRET", "ASSENT_TEXT_KEY"}
    assert {name for name, reading in env.readings.items() if reading.is_secret} == secrets
    assert {f"{name}_FILE" for name in secrets} <= env.known


def test_a_bad_url_from_a_file_is_refused_under_its_name(plain: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "url").write_text("banana\n")
    (said,) = read_settings(plain, {"DATABASE_URL_FILE": str(tmp_path / "url")})
    assert str(said).startswith("DATABASE_URL")


@pytest.mark.parametrize(
    ("content", "because"),
    [
        (None, "cannot be read"),
        (b"", "one line"),
        (b"one\ntwo\n", "one line"),
        (b"\xff\xfe\x00", "not a text file"),
    ],
)
def test_a_file_without_a_secret_is_refused_by_name(tmp_path: Path, content: bytes | None, because: str) -> None:
    path = tmp_path / "secret"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadSetting, match=rf"REDIS_URL_FILE is '{path}'.*{because}"):
        Environment({"REDIS_URL_FILE": str(path)}).secret("REDIS_URL")


def test_a_secret_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("redis://h/0")
    with pytest.raises(BadSetting, match="REDIS_URL and REDIS_URL_FILE are both set"):
        Environment({"REDIS_URL": "redis://h/1", "REDIS_URL_FILE": str(tmp_path / "url")}).secret("REDIS_URL")
