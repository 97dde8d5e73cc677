"""deploy/kubernetes.yml: that it parses, follows docker-compose.yml, and runs as nobody who may do much."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from memory_app.settings import env
from tests.support.places import ROOT

pytestmark = pytest.mark.pure

OBJECTS = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yml").read_text(encoding="utf-8")))
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what runs, with the spec of its pods."""
    for each in OBJECTS:
        spec = each["spec"]["jobTemplate"]["spec"] if each["kind"] == "CronJob" else each.get("spec", {})
        if "template" in spec:
            yield each["metadata"]["name"], spec["template"]["spec"]


PODS = dict(pods())
CONTAINERS = [
    (name, container)
    for name, spec in PODS.items()
    for container in [*spec.get("initContainers", []), *spec["containers"]]
]


def test_what_compose_runs_of_ours_runs_here_with_the_same_commands() -> None:
    services = {"web": "assent-web", "worker": "assent-worker", "beat": "assent-beat", "backup": "assent-backup"}
    services["migrate"] = next(name for name in PODS if name.startswith("assent-prepare-"))
    for service, name in services.items():
        command = [part.replace("$$", "$") for part in COMPOSE["services"][service]["command"]]
        assert PODS[name]["containers"][0]["command"] == command, name


def test_there_is_one_image_of_ours_and_the_job_is_named_after_its_version() -> None:
    dolt = COMPOSE["services"]["dolt"]["image"]
    (ours,) = {container["image"] for _name, container in CONTAINERS} - {dolt}
    name, _, version = ours.partition(":")
    assert COMPOSE["services"]["web"]["image"].startswith(f"{name}:")
    assert f"assent-prepare-{version.replace('.', '-')}" in PODS


@pytest.mark.parametrize("name", PODS)
def test_nothing_runs_as_root_or_may_become_it(name: str) -> None:
    context = PODS[name]["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == 10001
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert PODS[name]["automountServiceAccountToken"] is False
    for of, container in CONTAINERS:
        if of == name:
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False
            assert own["capabilities"] == {"drop": ["ALL"]}
            assert own.get("readOnlyRootFilesystem", False) is (name != "assent-dolt")
            assert container["resources"]["limits"]["memory"]


def test_the_user_is_that_of_the_image() -> None:
    assert "--uid 10001" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_probes_ask_what_there_is_by_a_host_that_is_allowed() -> None:
    (settings,) = [each["data"] for each in OBJECTS if each["kind"] == "ConfigMap"]
    (web,) = PODS["assent-web"]["containers"]
    paths = {kind: web[f"{kind}Probe"]["httpGet"]["path"] for kind in ("readiness", "liveness", "startup")}
    assert paths == {"readiness": "/readyz", "liveness": "/healthz", "startup": "/healthz"}
    for kind in paths:
        (host,) = web[f"{kind}Probe"]["httpGet"]["httpHeaders"]
        assert host == {"name": "Host", "value": settings["ASSENT_ALLOWED_HOSTS"]}
    assert web["readinessProbe"]["timeoutSeconds"] > 2.5  # health.SECONDS
    assert web["livenessProbe"]["periodSeconds"] * web["livenessProbe"]["failureThreshold"] >= 120
    for name in ("assent-worker", "assent-beat"):
        assert PODS[name]["containers"][0]["livenessProbe"]["exec"]
    (beat,) = [each for each in OBJECTS if each["metadata"]["name"] == "assent-beat"]
    assert (beat["spec"]["replicas"], beat["spec"]["strategy"]) == (1, {"type": "Recreate"})


def test_settings_are_ours_and_secrets_are_in_none_of_the_files() -> None:
    (settings,) = [each["data"] for each in OBJECTS if each["kind"] == "ConfigMap"]
    assert settings.keys() <= env.readings.keys()
    assert not [name for name in settings if env.readings[name].is_secret]
    assert all(isinstance(value, str) for value in settings.values())
    asked = set(re.findall(r"--from-literal=(\w+)=", PAGE))
    dolt = {"DOLT_PASSWORD", "DOLT_ROOT_PASSWORD"}
    assert {name for name in asked - dolt if not env.readings[name].is_secret} == set()
    given = set(COMPOSE["services"]["web"]["environment"]) & env.readings.keys()
    assert {name for name in given if env.readings[name].is_secret} <= asked
    assert settings["ASSENT_ERASED_LIST"] == "/erased/erased.jsonl"
    for name in ("assent-web", "assent-worker"):  # who erases
        assert {"name": "erased", "mountPath": "/erased"} in PODS[name]["containers"][0]["volumeMounts"]


def test_everything_that_is_named_is_there() -> None:
    there = {(each["kind"], each["metadata"]["name"]) for each in OBJECTS}
    for name, spec in PODS.items():
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for volume in volumes.values():
            if claim := volume.get("persistentVolumeClaim"):
                assert ("PersistentVolumeClaim", claim["claimName"]) in there
        for of, container in CONTAINERS:
            if of == name:
                assert {mount["name"] for mount in container["volumeMounts"]} <= {*volumes, "data"}
    for each in OBJECTS:
        if each["kind"] == "Service":
            labels = [
                other["spec"]["template"]["metadata"]["labels"]
                for other in OBJECTS
                if other["kind"] in ("Deployment", "StatefulSet")
            ]
            assert each["spec"]["selector"] in labels
