"""JSON as callers send it: read strictly, its texts checked, and taken for what an argument wants.

Some clients turn each argument that is no text into one: `"3"`, `"true"`, `"[1, 2]"`. A model that did send a list can
only send it again, so such a text is read. Where text is wanted, text stays as it is.
"""

import json
import math
import re
from collections import Counter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from agent_tools.errors import ApiError, ErrorCode

#: Arguments are at most evidence turns inside a list inside the object; more is a mistake or an attack.
_DEEPEST = 12
#: Items that are looked at. No list has more than 500; 200,000 texts took two seconds, to be refused for their number.
_MOST_ITEMS = 1_000
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


def parse(raw: bytes) -> Any:
    """Return `raw` as JSON of any kind, its texts unchecked. Raise ApiError (invalid_json)."""
    try:
        return _read(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise invalid_json(f"The body is not UTF-8 (byte {error.start}).") from error


def _read(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise invalid_json(
            f"The body is not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})."
        ) from error
    except RecursionError as error:
        raise invalid_json("The body is nested too deeply.") from error
    except ValueError as error:  # a number of thousands of digits
        raise invalid_json("The body holds a number that is too long.") from error


def check_texts(value: dict[str, Any]) -> None:
    """Refuse NUL, lone surrogates and deep nesting, naming every place; without recursion."""
    bad: dict[str, str] = {}
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    while waiting:
        path, item, depth = waiting.pop()
        if depth > _DEEPEST:
            raise invalid_json("The body is nested too deeply.")
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
        raise invalid_json(f"The body names {twice[:100]!a} twice.")
    return found


def _refuse_constant(name: str) -> Any:
    raise invalid_json(f"{name} is not JSON.")


def invalid_json(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_JSON, message)


# -- What an argument wants.


def as_object(value: Any) -> Any:
    """Return all the arguments of a call, which a client may have turned into one text, as OpenAI's API has them."""
    return _unwritten(value) if isinstance(value, str) else value


def taken(name: str, kind: Any, value: Any) -> Any:
    """Return the value of an argument as `kind` wants it, or as it is, to be refused by name.

    Args:
        kind: the annotation of the argument.

    Raises:
        ApiError: a text that was read holds what no text may (forbidden_character), or is nested too deeply.
    """
    found = value if kind is str else _as(kind, value)
    if found is not value:
        check_texts({name: found})
    return found


def _as(kind: Any, value: Any) -> Any:
    options = options_of(kind)
    if any(map(_is_text, options)):
        return value
    for option in options:
        if get_origin(option) is list:
            return _as_list(get_args(option)[0], value)
    if isinstance(value, str):
        read = _unwritten(value)
        if isinstance(read, dict) or (read is None and not any(map(_is_object, options))):
            return read
        is_number = type(read) in (int, float) and not {int, float}.isdisjoint(options) and abs(read) < math.inf
        value = read if is_number or (isinstance(read, bool) and bool in options) else value
    return int(value) if int in options and isinstance(value, float) and value.is_integer() else value


def _as_list(kind: Any, value: Any) -> Any:
    """Return a list of what `kind` wants: one value is a list of one, and a text of words has commas between them.

    Commas are what the `memory` command and its skill put between tags: `--tags api,naming`.
    """
    options = options_of(kind)
    read = _unwritten(value) if isinstance(value, str) else value
    if read is None or isinstance(read, list):
        value = read
    elif isinstance(value, str) and all(map(_is_text, options)) and not value.lstrip().startswith("["):
        value = [word.strip() for word in value.split(",") if word.strip()]
    elif isinstance(read, dict) is any(map(_is_object, options)) and not isinstance(read, str):
        value = [read]
    if isinstance(value, list) and len(value) <= _MOST_ITEMS:
        return [_as(kind, item) for item in value]
    return value


def options_of(kind: Any) -> list[Any]:
    """Return the types that an annotation allows, without None."""
    if get_origin(kind) is Annotated:
        return options_of(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [option for each in get_args(kind) if each is not type(None) for option in options_of(each)]
    return [kind]


def _is_text(option: Any) -> bool:
    return option in (str, bytes, Any) or get_origin(option) is Literal


def _is_object(option: Any) -> bool:
    return isinstance(option, type) and issubclass(option, BaseModel)


def _unwritten(text: str) -> Any:
    """Return what a text says as JSON; the text itself where it is none."""
    try:
        return _read(text)
    except ApiError:
        return text
