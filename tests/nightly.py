"""What runs at night alone (`make test-all`), and why: it takes long, and what it watches over seldom breaks.

A path of a file, or of a test in it. Whoever names one of these to `make test` runs it. A test may also be marked
`nightly` where it stands.
"""

from pathlib import Path

from tests import environment

ROOT = Path(__file__).resolve().parent.parent

NIGHTLY = (
    # Every state of every page in two themes and five widths; by day its first two tests look at doors and empty pages.
    "tests/end_to_end/test_axe.py::test_reviewing",
    "tests/end_to_end/test_axe.py::test_proposals",
    "tests/end_to_end/test_axe.py::test_deciding",
    "tests/end_to_end/test_axe.py::test_blocks_and_memory",
    "tests/end_to_end/test_axe.py::test_notes_and_settings",
    # measures what floods of text cover, in every width
    "tests/end_to_end/test_paint.py",
    # measures rows in view
    "tests/end_to_end/test_compact.py",
    # steps by key and button in every layout, and what is in view
    "tests/end_to_end/test_change_in_browser.py",
    # history in a browser; its pages are tested without one by day
    "tests/end_to_end/test_past_in_browser.py",
    # starts the demo
    "tests/end_to_end/test_pictures.py::test_each_page_is_found",
    # opens pages of every kind as three people; by day its others look at the templates and the navigation
    "tests/end_to_end/test_navigation.py::test_a_student_a_tutor_and_an_admin_reach_no_more_pages_than_these",
    # decides about 120 and waits for the clock of a server that was killed; by day a process is killed at its writes
    "tests/end_to_end/test_killed_batch.py",
    # waits for leases of imports to run out
    "tests/end_to_end/test_killed_import.py",
    # installs everything twice
    "tests/deployment/test_clean_clone.py",
    # starts nginx before the server
    "tests/deployment/test_nginx.py",
    # the migrations that the case beside it runs, once more
    "tests/deployment/test_releases.py::test_a_release_s_databases_are_brought_up_to_date_and_go_on[0.1-embedded.tar.gz-restore]",
    # whole starts of old installations
    "tests/deployment/test_private_files.py",
    # a server of its own, and a move for each write at which one may die
    "tests/memory_app/dolt/test_moving.py::test_a_move_killed_before_any_write_is_finished_by_the_same_command",
    # torture, in small
    "tests/deployment/test_torture.py",
    # two whole sites with a worker and a beat; by day test_fresh_search has two web servers
    "tests/deployment/test_two_web_servers.py",
    # does what a build of the containers does
    "tests/deployment/test_containers.py",
    # starts with every setting of a deployment
    "tests/deployment/test_deploy_settings.py",
    # installs the client into an environment of its own
    "tests/clients/test_installed_alone.py",
    # every regular expression against texts made to be slow for it
    "tests/hostile/test_patterns.py",
    # every pure function against texts made to be slow for it
    "tests/hostile/test_functions.py",
    # whole starts
    "tests/approvals/recovery/test_backup.py::test_a_site_whose_secrets_come_from_files_is_verified_and_restored",
    # two whole installations for a rare pair
    "tests/approvals/recovery/test_backup.py::test_editions_can_be_mixed",
    # a rare pair of editions
    "tests/memory_app/runtime/test_upkeep.py::test_celerys_children_empty_the_log",
    # writes for half a minute
    "tests/memory_app/runtime/test_upkeep.py::test_the_log_stays_small_and_the_main_file_follows_while_a_command_writes",
    # kills at each write; by day the sweeps over approving and proposing do
    "tests/agent_tools/decisions/test_tell_decisions.py::test_a_call_that_dies_anywhere_tells_it_when_it_is_repeated",
)

#: What runs by day with files alone, as each takes half a minute with servers, and what is about servers alone.
NIGHTLY_ON_SERVERS = (
    # whole backups of both editions
    "tests/approvals/recovery/test_backup.py::test_editions_can_be_mixed",
    # backups beside a writer; with files by day
    "tests/approvals/recovery/test_backup.py::test_what_was_acknowledged_before_a_backup_is_in_it_while_others_write",
    # two backups; with files by day
    "tests/approvals/recovery/test_backup.py::test_halves_of_two_backups_are_refused",
    # random histories; with files by day
    "tests/approvals/recovery/test_ledger.py::test_the_ledger_of_any_history_can_be_made_again",
    # a whole worker of Celery for an edition that is mixed
    "tests/memory_app/runtime/test_upkeep.py::test_celerys_children_empty_the_log_of_an_embedded_default_beside_a_memory_on_a_server",
    # a whole worker of Celery
    "tests/memory_app/search/test_service.py::test_a_worker_killed_in_the_middle_of_a_rebuild_loses_nothing",
    # servers of its own, for a failure of the engine's
    "tests/memory_app/dolt/test_server_engine.py::test_a_transaction_from_before_a_restore_stops_no_collection",
)


def is_nightly(test: str) -> bool:
    """Whether a test, named as pytest names it, is among them."""
    named = NIGHTLY if environment.is_embedded() else (*NIGHTLY, *NIGHTLY_ON_SERVERS)
    return test.startswith(named)
