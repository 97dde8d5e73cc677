from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def revoke(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Revoke the tokens of the playground, which have no secret. Their rows stay: calls and proposals name them."""
    tokens = apps.get_model("agent_tools", "AgentToken").objects.using(schema_editor.connection.alias)
    tokens.filter(is_playground=True, revoked_at=None).update(revoked_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [("agent_tools", "0007_proposing_includes_reading")]

    operations = [
        migrations.RunPython(revoke, migrations.RunPython.noop),
        migrations.RemoveConstraint(model_name="agenttoken", name="playground_once"),
        migrations.RemoveField(model_name="agenttoken", name="is_playground"),
    ]
