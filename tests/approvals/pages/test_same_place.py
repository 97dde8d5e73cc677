"""Rows of a list that change the same words of a block."""

import pytest

from approvals.models import User
from approvals.pages.inbox_rows import change_the_same
from memory_app.reads import Block
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import words


@pytest.mark.pure
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("in June", "in July"), ("in June", "in May"), True),
        (("in June", "in July"), ("the exam in June.", "the exam in May."), True),
        (("the exam in June", "the test in June"), ("in June", "in July"), False),
        (("exam", "B2 exam"), ("the exam", "the hard exam"), True),
        (("in June", "in July"), ("one book", "two books"), False),
    ],
)
def test_two_replacements(one: tuple[str, str], other: tuple[str, str], expected: bool) -> None:
    assert change_the_same(*one, *other) is change_the_same(*other, *one) is expected


def test_a_row_names_the_others_that_change_the_same_words(
    client_of: ClientOf, tim: User, goals: Block, propose: Propose
) -> None:
    july, may = propose(goals, "in June", "in July"), propose(goals, "B2 exam in June", "B2 exam in May")
    books = propose(goals, "one book", "two books")
    page = client_of(tim).get("/?agent=scribe")
    rows = {
        row.proposal.pk: row.conflicts for group in page.context["page"].groups for row in group.rows if row.conflicts
    }
    assert rows == {july.pk: [may.pk], may.pk: [july.pk]}
    assert f"conflicts with proposal #{may.pk}" in words(page)
    assert f'<a href="/proposals/{may.pk}/?list=agent%3Dscribe"><span class="visually-hidden">' in page.content.decode()
    assert f"#{books.pk}" not in words(page)
