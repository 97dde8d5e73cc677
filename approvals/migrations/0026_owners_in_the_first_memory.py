from django.db import migrations


def place_owners(apps, schema_editor):
    """Whoever has proposals, none of them approved yet, has their branches in the only database there was."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memory_app_memoryowner (owner, database_id) "
            "SELECT DISTINCT owner, 'memory' FROM approvals_proposal WHERE owner <> '' ON CONFLICT DO NOTHING"
        )


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0025_flagged_text'),
        ('memory_app', '0009_several_memories'),
    ]

    operations = [migrations.RunPython(place_owners, migrations.RunPython.noop)]
