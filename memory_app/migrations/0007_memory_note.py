"""The model of a versioned note is named as that of a block; its table keeps its name, and every branch its schema."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ('memory_app', '0006_indexes_of_the_ledger'),
    ]

    operations = [
        migrations.AlterModelTable('note', 'memory_app_note'),
        migrations.RenameModel('Note', 'MemoryNote'),
    ]
