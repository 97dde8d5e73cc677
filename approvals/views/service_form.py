"""A page of one form that one service carries out, in the viewer's own memory.

Belongs here: the order of such a request, from whose memory it is to what the page says afterwards. Not here: which
service a page calls, and what a conflict means for it.

A form carries the sha256 of what it was loaded with. Nothing typed is lost: every refusal shows the form again as it
was sent.
"""

from functools import cached_property
from typing import Any, ClassVar, TypeVar

from django.contrib import messages
from django.forms import BooleanField, Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.decorators import method_decorator
from django.views.generic import FormView
from django_stubs_ext import StrOrPromise

from approvals.accounts.sign_in import signed_in, typed_before, viewer_of
from approvals.forms.memory import REFUSALS, add_refusal
from approvals.models import User
from approvals.views.block_views import about, own_memory

F = TypeVar("F", bound=Form)


class ServiceFormView(FormView[F]):
    """Show a form, or check it and call a service with it.

    Attributes:
        owner: whose memory it is; the viewer, unless `find_owner` says otherwise.
        done_already: what the service raises where the same form was sent before.
        conflicts: what it raises where there is now something else than the form was loaded with.
        success_message: what the next page says; see `get_success_message`.
    """

    http_method_names = ["get", "head", "post"]
    done_already: ClassVar[tuple[type[Exception], ...]] = ()
    conflicts: ClassVar[tuple[type[Exception], ...]] = ()
    success_message: StrOrPromise
    owner: User

    def find_owner(self, request: HttpRequest, owner: str) -> User:
        """Return whose memory it is. Raises Http404 where the viewer is not even told that it is there."""
        return own_memory(request, owner)

    def load(self) -> HttpResponse | None:
        """Read what the form is about. Return the page to see instead, where there is nothing to ask."""
        return None

    def initial_fields(self) -> dict[str, Any]:
        """Return what the form shows at first."""
        return {}

    def call_service(self, form: F) -> None:
        """Carry out what a valid form asks for."""
        raise NotImplementedError

    def on_conflict(self, form: F, error: Exception) -> HttpResponse:
        """Answer one of `conflicts`."""
        raise NotImplementedError

    def get_success_message(self) -> StrOrPromise:
        return self.success_message

    def said(self, form: F) -> dict[str, Any]:
        """Return what every service of a memory is told: who changes whose memory, and why."""
        actor, comment = viewer_of(self.request), form.cleaned_data["comment"]
        return {"actor": actor, "owner": self.owner.username, "comment": comment}

    @method_decorator(signed_in())  # type: ignore[arg-type]  # ours answer with whole pages
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.owner = self.find_owner(request, kwargs["owner"])
        elsewhere = self.load()
        if elsewhere is not None:
            return elsewhere
        answer: HttpResponse = super().dispatch(request, *args, **kwargs)  # type: ignore[assignment]
        return answer

    def get_initial(self) -> dict[str, Any]:
        if self.request.method == "POST":
            return {}
        return {**self.initial_fields(), **self.kept_fields}

    @cached_property
    def kept_fields(self) -> dict[str, Any]:
        """Return what was typed into this form when the session ran out; an unticked box was sent as nothing."""
        kept = typed_before(self.request)
        fields = self.get_form_class().base_fields if kept else {}
        return {**kept, **{name: name in kept for name, field in fields.items() if isinstance(field, BooleanField)}}

    def form_valid(self, form: F) -> HttpResponse:
        try:
            self.call_service(form)
        except self.done_already:
            return self.succeed()
        except self.conflicts as error:
            return self.on_conflict(form, error)
        except REFUSALS as error:
            return self.show(form, status=add_refusal(form, error))
        return self.succeed()

    def form_invalid(self, form: F) -> HttpResponse:
        return self.show(form, status=422)

    def succeed(self) -> HttpResponse:
        messages.success(self.request, self.get_success_message())
        return redirect(self.get_success_url())

    def show(self, form: F, *, status: int = 200, **more: Any) -> HttpResponse:
        """Return the page with this form."""
        return self.render_to_response(self.get_context_data(form=form, **more), status=status)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**(about(self.request, self.owner) | kwargs))


class ChangeView(ServiceFormView[F]):
    """A form about a block or a note, which carries the sha256 of what it was shown with.

    Attributes:
        current: the block or note as it is now.
    """

    current: Any

    def find(self) -> Any:
        """Return the block or note as it is now; None where there is none."""
        raise NotImplementedError

    def gone(self) -> HttpResponse:
        """Answer where there is nothing to change, or no longer."""
        return redirect(self.get_success_url())

    def is_done(self, form: F, now: Any) -> bool:
        """Whether a block or note that changed is now as the form asked for: the same form was sent before."""
        return False

    def load(self) -> HttpResponse | None:
        self.current = self.find()
        return None if self.current else self.gone()

    def initial_fields(self) -> dict[str, Any]:
        return {"loaded_sha256": self.current.sha256}

    def on_conflict(self, form: F, error: Exception) -> HttpResponse:
        """Show the block or note as somebody else left it, and ask once more."""
        now = self.find()
        if self.is_done(form, now):
            return self.succeed()
        self.current = now
        if now is None:
            return self.gone()
        return self.show_overtaken(form)

    def show_overtaken(self, form: F, *, status: int = 409, **more: Any) -> HttpResponse:
        """Return the form as it was sent, but about what there is now: sent once more, it is carried out."""
        sha256 = self.current.sha256 if self.current else ""
        again = self.get_form_class()({**self.request.POST.dict(), "loaded_sha256": sha256})
        return self.show(again, status=status, overtaken=True, **more)
