"""Reading a request's body: within the limit, as one JSON object, without what no text may contain.

Why not a parser of Django REST framework: it takes duplicate keys, lone surrogates and any nesting. Django's own limit
is looser and its answer is HTML.
"""

import json
import re
from collections import Counter
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from agent_tools.errors import ApiError, ErrorCode

#: Arguments are at most evidence turns inside a list inside the object; more is a mistake or an attack.
_DEEPEST = 12
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def read_object(request: HttpRequest) -> tuple[dict[str, Any], int]:
    """Return the JSON object in the body (an empty body is an empty object) and the body's size in bytes.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type, invalid_json, forbidden_character.
    """
    raw = read_json(request)
    return (parse_object(raw) if raw.strip() else {}), len(raw)


def read_json(request: HttpRequest) -> bytes:
    """Return the bytes of a body that has to be JSON, or is empty.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type.
    """
    raw = _read(request, settings.REQUEST_LIMIT)
    if raw.strip():
        _check_media_type(request)
    return raw


def read_markdown(request: HttpRequest, limit: int) -> bytes:
    """Return the bytes of a Markdown file in the body.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type.
    """
    raw = _read(request, limit)
    media_type = (request.content_type or "").lower()
    if media_type not in ("text/markdown", "text/plain"):
        raise ApiError(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE,
            "Send the file with the header Content-Type: text/markdown.",
            details={"content_type": media_type},
        )
    return raw


def parse_object(raw: bytes) -> dict[str, Any]:
    """Return `raw` as a JSON object. Raise ApiError (invalid_json, forbidden_character)."""
    value = parse(raw)
    if not isinstance(value, dict):
        raise _invalid("The body must be one JSON object with the arguments.")
    check_texts(value)
    return value


def parse(raw: bytes) -> Any:
    """Return `raw` as JSON of any kind, its texts unchecked. Raise ApiError (invalid_json)."""
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except UnicodeDecodeError as error:
        raise _invalid(f"The body is not UTF-8 (byte {error.start}).") from error
    except json.JSONDecodeError as error:
        raise _invalid(
            f"The body is not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})."
        ) from error
    except RecursionError as error:
        raise _invalid("The body is nested too deeply.") from error
    except ValueError as error:  # a number of thousands of digits
        raise _invalid("The body holds a number that is too long.") from error


def _read(request: HttpRequest, limit: int) -> bytes:
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        # Under ASGI Django has read it. waitress puts the chunks together; other WSGI servers do not, and Django takes
        # the body for an empty one.
        if getattr(request, "environ", None):
            raise ApiError(ErrorCode.LENGTH_REQUIRED, "Send the body with a Content-Length.")
        body = request.body
    else:
        # Not `request.body`, which has a limit of Django's own.
        body = request.read(limit + 1)
    if len(body) > limit:
        raise too_large(limit)
    return body


def _check_media_type(request: HttpRequest) -> None:
    media_type = (request.content_type or "").lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise ApiError(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE,
            "Send the arguments as JSON, with the header Content-Type: application/json.",
            details={"content_type": media_type},
        )


def check_texts(value: dict[str, Any]) -> None:
    """Refuse NUL, lone surrogates and deep nesting, naming every place; without recursion."""
    bad: dict[str, str] = {}
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        path, item, depth = waiting.pop()
        if depth > _DEEPEST:
            raise _invalid("The body is nested too deeply.")
        if isinstance(item, str):
            if found := _FORBIDDEN.search(item):
                bad[path] = f"contains the character U+{ord(found[0]):04X} at position {found.start()}"
        elif isinstance(item, dict):
            for key, inner in item.items():
                if _FORBIDDEN.search(key):
                    bad[path or "the body"] = "has a name with a NUL or half of a surrogate pair in it"
                else:
                    waiting.append((f"{path}.{key}" if path else key, inner, depth + 1))
        elif isinstance(item, list):
            waiting.extend((f"{path}[{index}]", inner, depth + 1) for index, inner in enumerate(item))
    if bad:
        fields = dict(sorted(bad.items()))
        message = "; ".join(f"{field} {reason}" for field, reason in fields.items())
        raise ApiError(ErrorCode.FORBIDDEN_CHARACTER, f"{message}, which cannot be stored.", details={"fields": fields})


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _invalid(f"The body names {twice[:100]!a} twice.")
    return found


def _refuse_constant(name: str) -> Any:
    raise _invalid(f"{name} is not JSON.")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_JSON, message)


def too_large(limit: int) -> ApiError:
    """Return the refusal of a body over the limit, in bytes."""
    return ApiError(
        ErrorCode.BODY_TOO_LARGE, f"The body is over the limit of {limit:,} bytes.", details={"limit": limit}
    )
