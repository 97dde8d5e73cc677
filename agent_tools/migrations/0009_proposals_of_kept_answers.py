import json

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_BATCH = 500


def named_proposals(payload: object) -> set[int]:
    if isinstance(payload, list):
        return set().union(*map(named_proposals, payload))
    if not isinstance(payload, dict):
        return set()
    own = payload.get("proposal_id")
    return named_proposals(list(payload.values())) | ({own} if isinstance(own, int) else set())


def name_proposals(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Note for each kept answer which proposals it names."""
    alias = schema_editor.connection.alias
    keys = apps.get_model("agent_tools", "IdempotencyKey").objects.using(alias)
    proposals = apps.get_model("approvals", "Proposal").objects.using(alias)
    named = apps.get_model("agent_tools", "IdempotencyKey").proposals.through
    there = set(proposals.values_list("pk", flat=True))
    rows = []
    for key in keys.exclude(response="").iterator(_BATCH):
        numbers = named_proposals(json.loads(key.response)) & there
        rows += [named(idempotencykey_id=key.pk, proposal_id=number) for number in sorted(numbers)]
    named.objects.using(alias).bulk_create(rows, batch_size=_BATCH)


class Migration(migrations.Migration):
    dependencies = [
        ("agent_tools", "0008_no_playground"),
        ("approvals", "0014_events_that_agents_are_told"),
    ]

    operations = [
        migrations.AddField(
            model_name="idempotencykey",
            name="proposals",
            field=models.ManyToManyField(related_name="+", to="approvals.proposal"),
        ),
        migrations.RunPython(name_proposals, migrations.RunPython.noop),
    ]
