from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("approvals", "0032_courses")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=16, verbose_name="language"),
        ),
    ]
