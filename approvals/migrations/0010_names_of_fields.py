from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ('approvals', '0009_search_words'),
    ]

    operations = [
        migrations.RenameField('proposal', 'revision', 'current_revision_number'),
        migrations.RenameField('proposal', 'by_policy', 'auto_applied'),
        migrations.RenameField('proposal', 'why_asked', 'review_reason'),
        migrations.RenameField('revision', 'weighed', 'risk_report'),
    ]
