"""One key of a rejection's target and words, instead of many of its sentences and what they may lose."""

from django.conf import settings
from django.db import migrations, models
from django.utils import timezone

from approvals.review import turn
from memory_app.text import alike


def remember_rejections(apps, schema_editor):
    """What was rejected, and has its texts, gets its key; keys of removed texts cannot be made again, and go."""
    Proposal = apps.get_model("approvals", "Proposal")
    Revision = apps.get_model("approvals", "Revision")
    RejectedFingerprint = apps.get_model("approvals", "RejectedFingerprint")
    RejectedFingerprint.objects.all().delete()
    if not settings.REJECTION_COUNTS:
        return
    since = timezone.now() - settings.REJECTION_COUNTS
    rejected = Proposal.objects.filter(
        status="rejected", decision_reason__in=turn.COUNTING, redacted_at=None, decided_at__gte=since
    )
    for proposal in rejected.order_by("pk").iterator(chunk_size=50):
        revision = Revision.objects.filter(proposal=proposal, origin="agent").order_by("-number").first()
        if revision is None:
            continue
        said = turn.said_of_revision(proposal.target_kind, proposal.target, revision)
        secret = turn.secrets(proposal.agent_id, proposal.owner)[0]
        of = {
            "proposal": proposal,
            "agent_id": proposal.agent_id,
            "owner": proposal.owner,
            "decided_at": proposal.decided_at,
            "reasoning_key": turn.reasoning_key(proposal.reasoning, secret),
        }
        keys = dict.fromkeys(alike.fingerprint(each.words, secret) for each in said)
        RejectedFingerprint.objects.bulk_create(
            [RejectedFingerprint(**of, key=key) for key in keys], batch_size=500
        )


class Migration(migrations.Migration):
    dependencies = [("approvals", "0016_attention_is_what_was_seen")]

    operations = [
        migrations.AlterModelOptions(
            name="rejectedfingerprint",
            options={
                "ordering": ["id"],
                "verbose_name": "fingerprint of a rejection",
                "verbose_name_plural": "fingerprints of rejections",
            },
        ),
        migrations.RemoveField(model_name="rejectedfingerprint", name="part"),
        migrations.RemoveField(model_name="rejectedfingerprint", name="share"),
        migrations.AddField(
            model_name="rejectedfingerprint",
            name="reasoning_key",
            field=models.BigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunPython(remember_rejections, migrations.RunPython.noop),
    ]
