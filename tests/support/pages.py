"""Reading pages in tests the way a browser does: the forms on them, and the words people see.

Nothing of Django: clients of torture read pages too.
"""

from html.parser import HTMLParser
from typing import Any

_INLINE = frozenset({"a", "b", "bdi", "code", "del", "em", "ins", "kbd", "span", "strong", "time", "wbr"})


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, Any]]] = []
        #: What belongs to a form by its id, wherever it stands.
        self.of_id: dict[str, dict[str, Any]] = {}
        self._textarea: str | None = None
        self._of_textarea: dict[str, Any] = {}
        self._select: str | None = None
        self._of_select: dict[str, Any] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            name = given.get("id") or f"without an id: {len(self.forms)}"
            self.forms.append((given.get("action", ""), self.of_id.setdefault(name, {})))
        if (not self.forms and "form" not in given) or ("name" not in given and tag != "option"):
            return
        fields = self.of_id.setdefault(given["form"], {}) if "form" in given else self.forms[-1][1]
        if tag == "input" and given.get("type") in ("radio", "checkbox"):
            if "checked" in given and "disabled" not in given:
                value = given.get("value", "on")
                several = [*fields[given["name"]], value] if isinstance(fields.get(given["name"]), list) else [value]
                fields[given["name"]] = several if given["name"] == "accepted" else value
        elif tag == "input" and given["name"] == "shown":
            fields["shown"] = [*fields.get("shown", []), given.get("value", "")]
        elif tag == "input":
            fields[given["name"]] = given.get("value", "")
        elif tag == "textarea":
            self._textarea, self._of_textarea = given["name"], fields
            fields[self._textarea] = ""
        elif tag == "select":
            self._select, self._of_select = given["name"], fields
            fields[self._select] = ""
        elif tag == "option" and self._select and "selected" in given:
            self._of_select[self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._textarea:
            # Like a browser, which drops the line end the markup begins with.
            self._of_textarea[self._textarea] = self._of_textarea[self._textarea].removeprefix("\n")
            self._textarea = None
        if tag == "select":
            self._select = None

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self._of_textarea[self._textarea] += data


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("style", "script", "template", "title"):
            self._hidden += 1
        if tag not in _INLINE:
            self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("style", "script", "template", "title"):
            self._hidden -= 1

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def form(response: Any, action: str) -> dict[str, Any]:
    """The fields of the form that posts to `action`, as the page has them; `accepted` and `shown` are lists."""
    forms = _Forms()
    forms.feed(response.content.decode())
    for at, fields in forms.forms:
        if at == action:
            return fields
    raise AssertionError(f"no form to {action}; there are {[at for at, _ in forms.forms]}")


def has_form(response: Any, action: str) -> bool:
    forms = _Forms()
    forms.feed(response.content.decode())
    return action in [at for at, _ in forms.forms]


def words(response: Any) -> str:
    """The page's text on one line, with hidden words and without tags."""
    parser = _Words()
    parser.feed(response.content.decode())
    return " ".join("".join(parser.words).split())


def assert_says(response: Any, *texts: str, status: int = 200) -> None:
    """Assert that a page is answered with this status and has each of these texts among its words."""
    assert response.status_code == status
    read = words(response)
    for text in texts:
        assert text in read


def html(response: Any) -> str:
    """The page as it was sent."""
    text: str = response.content.decode()
    return text


def htmx(target: str = "") -> dict[str, str]:
    """The headers with which a script asks for a part of a page."""
    return {"HX-Request": "true", "HX-Target": target}
