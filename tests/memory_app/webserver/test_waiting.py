"""Bytes that wait for slow clients: all of them, in order, and not more than there is room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tools.errors import ErrorCode
from memory_app.webserver import refusals
from memory_app.webserver.waiting import FREE, IN_MEMORY, NoRoom, Room, Waiting

pytestmark = pytest.mark.pure


@given(st.lists(st.tuples(st.integers(0, IN_MEMORY // 2), st.integers(0, IN_MEMORY // 2)), max_size=12))
def test_what_is_written_is_read_in_memory_and_in_a_file(steps: list[tuple[int, int]]) -> None:
    waiting, wrote, read = Waiting(Room()), bytearray(), bytearray()
    for number, (size, wanted) in enumerate(steps):
        piece = bytes([number]) * size
        waiting.write(piece)
        wrote += piece
        read += waiting.read(wanted)
        assert len(waiting) == len(wrote) - len(read)
    while data := waiting.read(100_000):
        read += data
    assert read == wrote


def test_what_is_sent_piece_by_piece_stays_whole() -> None:
    waiting, sent = Waiting(Room()), bytearray()
    text = bytes(range(256)) * 10_000

    def send(data: bytes) -> int:
        if len(sent) > 1_000_000 and not refused:
            refused.append(True)
            raise BlockingIOError
        sent.extend(data[:100_001])
        return min(len(data), 100_001)

    refused: list[bool] = []
    waiting.write(text)
    with pytest.raises(BlockingIOError):
        waiting.send(send)
    waiting.send(send)
    assert bytes(sent) == text


def test_there_is_room_for_so_much_and_again_when_it_has_gone() -> None:
    room = Room(1000)
    first, second = Waiting(room), Waiting(room)
    first.write(b"x" * (FREE + 900))
    second.write(b"x" * FREE)
    with pytest.raises(NoRoom):
        second.write(b"x" * 101)
    first.clear()
    second.write(b"x" * 1000)
    assert len(second) == FREE + 1000


def test_what_the_server_itself_says_is_documented() -> None:
    codes = {code.code: code.status for code in ErrorCode}
    for answer in (refusals.too_slow, refusals.busy):
        said = answer("/api/v1/token/").decode()
        code = said.split('"code": "')[1].split('"')[0]
        assert said.startswith(f"HTTP/1.1 {codes[code]} ")
        assert "<p>" in answer("/sign-in/").decode()
