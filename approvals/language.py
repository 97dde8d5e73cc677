"""The language in which a person is answered and written to, and numbers in it.

What is for no person is English (`settings.LANGUAGE_CODE`): answers to agents, commands, logs, and whatever is stored.
Pages and mails choose another language for as long as they are made (`approvals.middleware`, `speaking_to`).
"""

from contextlib import AbstractContextManager, suppress

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.formats import number_format
from django.utils.translation.trans_real import parse_accept_lang_header

from approvals.models import User


def of_browser(request: HttpRequest) -> str:
    """Return the first language the browser asks for that there is; without one, `ASSENT_LANGUAGE`."""
    for wanted, _weight in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        with suppress(LookupError):
            return translation.get_supported_language_variant(wanted)
    return settings.SITE_LANGUAGE


def chosen_by(person: User) -> str | None:
    """Return the language a person chose in Settings; None, where that of the browser is to be used."""
    return person.language if person.language in dict(settings.LANGUAGES) else None


def speaking_to(person: User) -> AbstractContextManager[None]:
    """Speak the language of a person who is written to, whoever or whatever causes it."""
    return translation.override(chosen_by(person) or settings.SITE_LANGUAGE)


def grouped(number: int) -> str:
    """Return a number with the separators between thousands of the language that is spoken."""
    return str(number_format(number, force_grouping=True))
