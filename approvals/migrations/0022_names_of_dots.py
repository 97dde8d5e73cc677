import django.core.validators
from django.db import migrations, models

_VALID = django.core.validators.RegexValidator('^(?!\\.+\\Z)[a-z0-9._-]{1,64}\\Z', 'Use a-z, 0-9, dot, underscore and dash, and not only dots.')


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0021_batches'),
    ]

    operations = [
        migrations.AlterField(
            model_name='agent',
            name='name',
            field=models.CharField(max_length=64, unique=True, validators=[_VALID], verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='user',
            name='username',
            field=models.CharField(error_messages={'unique': 'This username is taken.'}, max_length=64, unique=True, validators=[_VALID], verbose_name='username'),
        ),
    ]
