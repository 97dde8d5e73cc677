"""`manage.py erase`: erase for good what was said of somebody, and prove that a word is nowhere any more."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals.models import User
from approvals.recovery import proof
from approvals.services import erasing
from approvals.services.errors import Refusal
from memory_app.dolt.errors import DoltError
from memory_app.management.commands.prepare import require_prepared
from memory_app.models import Change, Message, TargetKind


class Command(BaseCommand):
    help = (
        "Erase for good what was said of a person, in every version and copy; with --prove, look for a word in "
        "both databases, in every version that can still be opened, and in files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username", help="whose memory it is")
        parser.add_argument("--block", default="", metavar="LABEL", help="this block alone")
        parser.add_argument("--note", default="", metavar="ID", help="this note alone")
        parser.add_argument("--commit", default="", help="only the version that this commit has of the block or note")
        parser.add_argument("--apply", action="store_true", help="do it, for good")
        parser.add_argument("--prove", metavar="WORD", help="erase nothing: say where this word still is")
        parser.add_argument(
            "--in", dest="folders", nargs="*", type=Path, default=[], metavar="FOLDER", help="look here too"
        )

    def handle(self, *args: Any, username: str, block: str, note: str, commit: str, **options: Any) -> None:
        require_prepared()
        if options["prove"]:
            self._prove(options["prove"], options["folders"])
            return
        if not User.objects.filter(username=username).exists():
            raise CommandError(f"There is nobody called {username}.")
        if (block and note) or (commit and not (block or note)):
            raise CommandError("Name a block or a note, not both; a commit is of one of them.")
        kind = TargetKind.BLOCK if block else TargetKind.NOTE if note else ""
        if not options["apply"]:
            self._say_what(username, kind, block or note, commit)
            return
        try:
            erasure = erasing.ask(by=None, owner=username, kind=kind, target=block or note, commit=commit, waits=True)
        except Refusal as error:
            raise CommandError(error.message) from error
        except (OSError, DoltError) as error:
            raise CommandError(f"Nothing was erased: {error}") from error
        erasing.finish()
        erasure.refresh_from_db()
        if erasure.done_at is None:
            raise CommandError("A change is under way: it is erased when that is over, by the next `recover`.")
        erasing.vacuum()
        self.stdout.write(
            "Erased. Backups from before keep copies until you delete them; restored, they are erased again."
        )
        if erasing.may_be_plain(username):
            self.stdout.write(
                "Versions from before texts were sealed are still in the history, readable: "
                "`manage.py end_history --now memory --for-good` ends them."
            )

    def _say_what(self, username: str, kind: str, target: str, commit: str) -> None:
        changes = Change.objects.filter(owner=username, **{"target_kind": kind, "target": target} if kind else {})
        what = " ".join(filter(None, [kind, target, commit])) or "everything"
        also = "" if kind else f" and {Message.objects.filter(owner=username).count()} messages of conversations"
        self.stdout.write(f"Would erase {what} of {username}: {changes.count()} changes{also}.")
        self.stdout.write("Nothing was changed. --apply does it.")

    def _prove(self, word: str, folders: list[Path]) -> None:
        found = [*proof.in_default(word), *proof.in_memory(word), *proof.in_files(word, folders)]
        for place in found:
            self.stdout.write(place)
        if found:
            raise CommandError(f"The word is there, or could not be looked for, in {len(found)} place(s).")
        self.stdout.write("The word is in no table, in no version that can be opened, and in no file.")
