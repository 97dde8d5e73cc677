from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def add_reading(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give `memory:read` to every token that may change the memory."""
    tokens = apps.get_model("agent_tools", "AgentToken").objects.using(schema_editor.connection.alias)
    for token in tokens.only("pk", "scopes"):
        writes = {"memory:propose", "notes:write"}.intersection(token.scopes)
        if writes and "memory:read" not in token.scopes:
            tokens.filter(pk=token.pk).update(scopes=["memory:read", *token.scopes])


class Migration(migrations.Migration):
    dependencies = [("agent_tools", "0006_rotation_and_playground")]

    operations = [migrations.RunPython(add_reading, migrations.RunPython.noop)]
