from django.db import migrations, models

#: Those that are up to date; the others are behind, as their new columns say.
FOLLOWED = """
    UPDATE memory_app_searchindex SET writes_indexed = writes
    WHERE change_id >= COALESCE((SELECT MAX(id) FROM memory_app_change WHERE owner = memory_app_searchindex.owner), 0)
    AND message_id >= COALESCE((SELECT MAX(id) FROM memory_app_message WHERE owner = memory_app_searchindex.owner), 0)
"""


class Migration(migrations.Migration):
    dependencies = [("memory_app", "0011_packed_chunks")]

    operations = [
        migrations.AddField("searchindex", "writes", models.BigIntegerField(db_default=1, editable=False)),
        migrations.AddField("searchindex", "writes_indexed", models.BigIntegerField(db_default=0, editable=False)),
        migrations.RunSQL(FOLLOWED, migrations.RunSQL.noop),
        migrations.AddIndex(
            "searchindex",
            models.Index(
                fields=["owner"],
                condition=models.Q(writes_indexed__lt=models.F("writes")) | models.Q(busy_until__isnull=False),
                name="index_unsettled",
            ),
        ),
        migrations.AddIndex("searchindex", models.Index(fields=["embedder", "owner"], name="index_of_embedder")),
    ]
