import django.db.models.deletion
from django.db import migrations, models


def begin_now(apps, schema_editor):
    """A token that is in use is not told in its next answers what was decided in all the time before."""
    Event = apps.get_model('approvals', 'Event')
    last = Event.objects.order_by('-pk').values_list('pk', flat=True).first() or 0
    apps.get_model('agent_tools', 'AgentToken').objects.update(tells_after=last)


class Migration(migrations.Migration):

    dependencies = [
        ('agent_tools', '0003_block_reads'),
        ('approvals', '0014_events_that_agents_are_told'),
    ]

    operations = [
        migrations.AddField(
            model_name='agenttoken',
            name='tells_after',
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.RunPython(begin_now, migrations.RunPython.noop),
        migrations.CreateModel(
            name='ToldUntil',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner', models.CharField(max_length=64)),
                ('event_id', models.BigIntegerField()),
                (
                    'token',
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name='told', to='agent_tools.agenttoken'
                    ),
                ),
            ],
            options={
                'verbose_name': 'told until',
                'verbose_name_plural': 'told until',
                'constraints': [
                    models.UniqueConstraint(fields=('token', 'owner'), name='told_until_once'),
                ],
            },
        ),
    ]
