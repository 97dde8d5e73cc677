"""What is done after a crash, a restore or a doubt: finish what was begun, compare both databases, back up, rebuild.

Called by management commands, by the beat, and by services that have to repair before they write.
"""
