"""The link in each mail that ends them: it works signed out, with one press, and for the mail program itself.

RFC 8058: the program posts to the address of the `List-Unsubscribe` header, without cookies. A GET changes nothing,
since scanners of mail follow links.
"""

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from approvals.models import Mail, User

_SALT = "approvals.unsubscribe"


def unsubscribe_url(person: User) -> str:
    """Return the address that ends mail to a person. It does not run out: old mails have it."""
    token = signing.dumps(person.pk, salt=_SALT)
    return settings.PUBLIC_URL + reverse("unsubscribe", args=[token])


@csrf_exempt  # a mail program has neither cookie nor token, and the signed address says who is meant
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """Ask, and on a POST end mail to the person in the address."""
    try:
        pk = signing.loads(signed, salt=_SALT)
    except signing.BadSignature as error:
        raise Http404 from error
    person = User.objects.filter(pk=pk).first()
    if person is None:
        raise Http404
    if request.method == "POST":
        User.objects.filter(pk=pk).update(mail=Mail.NEVER)
        person.mail = Mail.NEVER
    response = render(
        request, "notifications/unsubscribe.html", {"person": person, "is_off": person.mail == Mail.NEVER}
    )
    response["Referrer-Policy"] = "no-referrer"
    return response
