from django.db import migrations, models
from django.db.models import OuterRef, Q, Subquery


def name_agents(apps, schema_editor):
    """What was decided before is told too, to whoever reads the decisions from the start."""
    Event = apps.get_model('approvals', 'Event')
    Proposal = apps.get_model('approvals', 'Proposal')
    decisions = Q(what__in=['approved', 'rejected', 'expired', 'changes_requested', 'reverted'])
    by_people = Q(what__in=['reopened', 'commented'], actor_kind='person')
    of_rest = Event.objects.filter(what='changes_requested', data__of_rest=True).values('pk')
    agent = Proposal.objects.filter(pk=OuterRef('proposal_id')).values('agent_id')
    told = Event.objects.filter(decisions | by_people).exclude(pk__in=of_rest)
    told.update(tells_id=Subquery(agent[:1]))


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0013_whole_blocks'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='tells',
            field=models.ForeignKey(
                blank=True, db_index=False, editable=False, null=True, on_delete=models.deletion.PROTECT,
                related_name='+', to='approvals.agent',
            ),
        ),
        migrations.RunPython(name_agents, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(
                condition=Q(('tells__isnull', False)), fields=['tells', 'owner', 'id'], name='event_tells_owner'
            ),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(condition=Q(('tells__isnull', False)), fields=['tells', 'id'], name='event_tells'),
        ),
    ]
