"""What can go wrong with a backup, each with a sentence that says what to do."""

from __future__ import annotations


class BackupError(Exception):
    """Base of everything below; the message is for the person at the command line."""


class CopyFailed(BackupError):
    """A database could not be copied, or could not be replaced by a copy."""


class NotABackup(BackupError):
    """The folder holds no backup, or only a part of one."""


class Damaged(BackupError):
    """A file of the backup is missing, or has changed since the backup was made."""


class TooNew(BackupError):
    """The backup was made by a newer version of Assent."""


class WrongPlace(BackupError):
    """The databases in the settings are of another kind than those in the backup, or are not empty."""


class PairMismatch(BackupError):
    """The two databases do not belong together: one knows changes that the other does not have."""
