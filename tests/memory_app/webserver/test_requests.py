"""What the web server knows about addresses agrees with what the application has there."""

import pytest
from django.urls import resolve, reverse

from assent_client.text.memories_md import LARGEST_FILE
from memory_app.webserver.requests import LARGEST_BODY, SMALL_FORM, largest_body, path_of

pytestmark = pytest.mark.pure

API, FORM = 1_000_000, 2_000_000


def limit(path: str) -> int:
    return largest_body(path, api=API, form=FORM)


@pytest.mark.parametrize("name", ["sign_in", "sign_out", "password_change", "password_reset"])
def test_forms_of_strangers_are_small(name: str) -> None:
    assert limit(reverse(name)) == limit(reverse("password_reset_confirm", args=["MQ", "set-password"])) == SMALL_FORM
    # What was typed before signing in may be a whole block.
    assert limit(reverse("sign_in_and_go_on")) == FORM


def test_files_are_large_where_files_are_taken_and_nowhere_else() -> None:
    assert limit(reverse("api_memories_file", args=["älice"])) == LARGEST_FILE
    assert LARGEST_FILE < limit(reverse("note_import", args=["älice"])) < LARGEST_BODY
    assert limit(reverse("api_tool", args=["memory_save"])) == API
    assert limit("/api/nothing/here/memories.md") == API
    assert limit(reverse("mcp")) == limit("/mcp/") == API
    assert limit("/mcpx") == FORM
    assert limit(reverse("block_edit", args=["alice", "goals"])) == FORM
    assert limit("/nothing/here/") == FORM


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("/sign%2Din/?next=/a/", "/sign-in/"),
        ("http://example.org/sign-in/?a", "/sign-in/"),
        ("*", ""),
        ("example.org:443", ""),
        ("/http://a/", "/http://a/"),
        ("", ""),
    ],
)
def test_a_target_is_read_as_django_reads_it(target: str, path: str) -> None:
    assert path_of(target) == path
    if path == "/sign-in/":
        assert resolve(path).url_name == "sign_in"
