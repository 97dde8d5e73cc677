"""What every answer of the server has, and how its fields are read.

The answers themselves are generated from the server's registry (`_generated.answers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx2
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, ValidatorFunctionWrapHandler
from pydantic import field_validator as validator

T = TypeVar("T")
U = TypeVar("U")

#: Asks `model_validate(…, context=STRICT)` to refuse what is not as described; only tests want that.
STRICT = {"strict": True}


def absent() -> Any:
    """Return the default of a field that the server always answers: None, should it come from another version."""
    return Field(default=None)


class Record(BaseModel):
    """Fields by name. Unknown ones are kept, and one of another type stays as it came.

    A change has been made when it is answered: an answer of a newer server is never an error.
    """

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    @validator("*", mode="wrap")
    @classmethod
    def _as_it_came(cls, value: Any, read: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return read(value)
        except ValidationError:
            if info.context is STRICT:
                raise
            return value


class Answer(Record):
    """What the server answered.

    Attributes:
        text: for the model, as it is.
        data: the same as plain values; its fields are attributes too.
        request_id: by which the server's log is searched.
        decisions: what people decided about the agent's proposals since its token was last told, where the server says
            so beside another answer: `items`, `left_out`, `more`, `next`. The text has a line for each.
    """

    text: str = Field(default="")
    data: dict[str, Any] = Field(default_factory=dict, repr=False)
    request_id: str | None = Field(default=None)
    decisions: dict[str, Any] | None = None

    @classmethod
    def from_payload(cls, payload: dict[str, Any], request_id: str | None, context: Any = None) -> Any:
        """Return the answer of this class; the text for the model comes before a field of that name."""
        data = payload["data"]
        given = {**data, "text": payload["text"], "data": data, "request_id": request_id}
        return cls.model_validate(given, context=context)


class ToolAnswer(Answer):
    """What a tool says that was called by its name: `text` for the model, `data` beside it."""


class ListAnswer(Answer, Generic[T]):
    """One page of a list.

    Attributes:
        next: the `cursor` of the next page, or None.
    """

    items: list[T] = Field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True)
class RawResponse(Generic[T]):
    """An answer as it came over HTTP; `parse()` reads it."""

    http_response: httpx2.Response
    answer: T
    retries_taken: int = 0

    @property
    def status_code(self) -> int:
        return self.http_response.status_code

    @property
    def headers(self) -> httpx2.Headers:
        return self.http_response.headers

    @property
    def content(self) -> bytes:
        return self.http_response.content

    def of(self, answer: U) -> RawResponse[U]:
        """Return the same response with another answer read from it."""
        return RawResponse(self.http_response, answer, self.retries_taken)

    def parse(self) -> T:
        """Return what the call returns without `with_raw_response`."""
        return self.answer
