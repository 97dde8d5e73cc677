from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory_app', '0012_writes_of_search_indices'),
    ]

    operations = [
        migrations.AddField(
            model_name='directwrite',
            name='pending',
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
        migrations.AddIndex(
            model_name='directwrite',
            index=models.Index(condition=models.Q(('pending__isnull', False)), fields=['owner'], name='direct_write_pending'),
        ),
    ]
