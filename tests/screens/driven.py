"""Which test drives which question and which bar.

A new question or bar needs a line here, and a test of this folder that types the answers, or sees
the bar come and go.
"""

_PROMPTS = "test_prompts.py"
_LOGIN = "test_logging_in.py"
_BARS = "test_bars.py"
_PODS = "test_pods.py"
_RENTING = "test_renting.py"
_DISKS = "test_disks.py"
_EVALUATING = "test_evaluating.py"

_SECRETS = "test_secrets.py::test_what_is_kept_is_set_unseen_and_deleted_after_a_yes"
_RUN = f"{_EVALUATING}::test_a_run_is_asked_about_interrupted_and_offered_again"
_WATCHED = f"{_EVALUATING}::test_a_run_is_watched_from_another_terminal_and_verified"
_CHECKS = f"{_EVALUATING}::test_checks_and_suites_show_what_they_run"
_V1 = f"{_EVALUATING}::test_what_programs_of_verifiers_do_is_shown"
_BUNDLE = f"{_EVALUATING}::test_a_bundle_shows_what_is_fetched_built_written_checked_and_unpacked"
_INSTALL = f"{_BARS}::test_the_steps_of_an_installation_are_shown"
_ENGINE = f"{_BARS}::test_installing_an_engine_is_shown"
_RUNS = f"{_BARS}::test_what_is_done_with_runs_is_shown"
_HUBS = f"{_BARS}::test_what_a_hub_is_copied_moved_and_cleaned_by_is_shown"
_BYTES = f"{_BARS}::test_uploads_and_downloads_show_their_bytes"
_REAL_MODEL = f"{_BARS}::test_the_steps_to_a_real_model_are_shown"
_CHOOSING = f"{_RENTING}::test_every_step_can_be_left"

QUESTIONS = {
    ("commands/completion.py", "Change "): (f"{_PROMPTS}::test_changing_a_file_of_the_users"),
    ("commands/context.py", "Delete `"): (
        f"{_LOGIN}::test_a_context_with_a_key_is_deleted_after_a_yes"
    ),
    ("commands/disks.py", "Which disk?"): (
        f"{_DISKS}::test_a_kind_of_disk_is_chosen_by_its_number"
    ),
    ("commands/disks.py", "Rent a disk of "): f"{_DISKS}::test_a_disk_is_rented_after_a_yes",
    ("commands/disks.py", "Terminate "): (f"{_DISKS}::test_a_disk_is_given_back_after_a_yes"),
    ("commands/sandbox/delete.py", "Delete "): f"{_PROMPTS}::test_deleting_a_sandbox",
    ("commands/secrets.py", "Value of "): _SECRETS,
    ("commands/secrets.py", "Delete "): _SECRETS,
    ("commands/env/secrets.py", "Unlink "): _SECRETS,
    ("commands/keys.py", "Revoke "): _SECRETS,
    ("commands/identities.py", "Unlink "): _SECRETS,
    ("commands/env/versions.py", "Delete "): f"{_PROMPTS}::test_deleting_an_environment",
    ("commands/env/install.py", "Continue?"): (
        f"{_PROMPTS}::test_moving_the_verifiers_of_a_workspace"
    ),
    ("evals/resume/policy.py", "This "): _RUN,
    ("commands/eval/hub.py", "Delete "): f"{_PROMPTS}::test_deleting_an_evaluation",
    ("evals/resume/policy.py", "Run "): _RUN,
    ("commands/gc.py", "Terminate "): f"{_PODS}::test_leaks_are_ended_after_a_yes",
    ("commands/hub/teams.py", "Remove "): f"{_PROMPTS}::test_removing_a_user_and_a_team",
    ("commands/hub/users.py", "Unlink the identity "): (
        f"{_PROMPTS}::test_removing_a_user_and_a_team"
    ),
    ("commands/hub/users.py", "Remove the user `"): (
        f"{_PROMPTS}::test_removing_a_user_and_a_team"
    ),
    ("commands/join.py", "Invitation"): f"{_LOGIN}::test_an_invitation_is_pasted_and_a_name_typed",
    ("commands/join.py", "Your new user name there?"): (
        f"{_LOGIN}::test_an_invitation_is_pasted_and_a_name_typed"
    ),
    ("commands/login.py", "Key"): f"{_LOGIN}::test_a_key_that_is_typed_is_not_seen",
    ("commands/pods/creation.py", "Which GPU?"): _CHOOSING,
    ("commands/pods/creation.py", "How many?"): _CHOOSING,
    ("commands/pods/creation.py", "Whose?"): _CHOOSING,
    ("commands/pods/creation.py", "Which image?"): _CHOOSING,
    ("commands/pods/creation.py", "f'{what}, {least}-{most}{of_unit}?'"): (
        f"{_RENTING}::test_an_invalid_size_is_refused"
    ),
    ("commands/pods/teams.py", "Who may use it? Numbers with commas"): (
        f"{_RENTING}::test_members_are_picked_by_their_numbers"
    ),
    ("commands/pods/create.py", "Create "): f"{_RENTING}::test_a_pod_is_made_after_a_yes",
    ("commands/pods/terminate.py", "Terminate "): f"{_PODS}::test_pods_are_ended_after_a_yes",
    ("commands/ssh_keys.py", "Remove the SSH key "): (
        f"{_DISKS}::test_a_key_is_removed_after_a_yes"
    ),
    ("commands/teams.py", "Which account do you want to use?"): (
        f"{_LOGIN}::test_a_team_is_chosen_by_its_number"
    ),
    ("commands/teams.py", "Remove "): f"{_LOGIN}::test_a_team_is_left_after_a_yes",
    ("commands/update.py", "Run this?"): f"{_PROMPTS}::test_updating_prime",
    ("session.py", "Trust `"): f"{_PROMPTS}::test_an_owner_becomes_trusted",
}
"""By module and how the question begins."""

BARS = {
    ("client/accounts/browser_login.py", "Waiting for approval of "): (
        f"{_LOGIN}::test_the_page_is_shown_while_a_bar_says_what_is_waited_for"
    ),
    ("client/api/evaluations.py", "Pushing samples"): _RUNS,
    ("client/api/environments.py", "Downloading "): _BYTES,
    ("client/api/environments.py", "Uploading "): _BYTES,
    ("doctor/run.py", "Checking this machine"): (f"{_BARS}::test_looking_at_this_machine_is_shown"),
    ("commands/env/diff.py", "Comparing"): _INSTALL,
    ("commands/update.py", "Updating prime"): f"{_BARS}::test_updating_prime_is_shown",
    ("commands/serve.py", "Starting "): f"{_BARS}::test_starting_an_engine_is_shown",
    ("training/engines/prime_rl/run.py", "Checking the file with prime-rl's own dry run"): (
        f"{_BARS}::test_the_dry_run_of_prime_rl_is_shown"
    ),
    ("training/run.py", "title"): f"{_BARS}::test_the_steps_of_a_training_are_shown",
    ("models/serving/installation.py", "Installing "): _ENGINE,
    ("models/serving/server.py", "Starting "): _REAL_MODEL,
    ("models/serving/weights.py", "Converting "): _REAL_MODEL,
    ("models/serving/weights.py", "Fetching "): _REAL_MODEL,
    ("envs/lockfile/update.py", "Locking"): _INSTALL,
    ("commands/env/lock.py", "Asking the hub"): _INSTALL,
    ("commands/eval/compare.py", "Comparing"): _RUNS,
    ("commands/eval/gate.py", "Reading "): _RUNS,
    ("commands/eval/export.py", "Pushing to the Hugging Face Hub"): (
        f"{_BARS}::test_a_push_to_the_hugging_face_hub_is_shown"
    ),
    ("commands/eval/power.py", "Planning"): _RUNS,
    ("commands/eval/show.py", "Reading "): _RUNS,
    ("commands/hub/maintenance.py", "Migrating"): _HUBS,
    ("envs/project/build.py", "Building "): f"{_BARS}::test_building_is_shown",
    ("envs/bundles/unpacked.py", "Unpacking "): _BUNDLE,
    ("envs/bundles/packages.py", "Building "): _BUNDLE,
    ("envs/bundles/packages.py", "Fetching packages"): _BUNDLE,
    ("envs/bundles/archive.py", "Checking "): _BUNDLE,
    ("envs/bundles/archive.py", "Writing "): _BUNDLE,
    ("envs/install/plan.py", "Importing "): _INSTALL,
    ("envs/install/plan.py", "Installing "): _INSTALL,
    ("envs/install/plan.py", "Resolving packages"): _INSTALL,
    ("envs/cache/maintenance.py", "Removing"): _INSTALL,
    ("envs/cache/maintenance.py", "Verifying"): _INSTALL,
    ("envs/publish/upload.py", "Preparing the starter environments"): (
        f"{_BARS}::test_the_first_command_says_what_it_prepares"
    ),
    ("evals/env_check/check.py", "Checking "): _CHECKS,
    ("evals/env_check/attack/panel.py", "Attacking "): _CHECKS,
    ("evals/control/client.py", "control.title"): _WATCHED,
    ("commands/eval/receipts.py", "Verifying the receipt"): _WATCHED,
    ("evals/env_check/migrate.py", "Scoring with verifiers "): _V1,
    ("evals/env_check/task_shell.py", "Setting up example "): _V1,
    ("evals/env_check/tasks.py", "Checking every task"): _V1,
    ("evals/rerun/upstream_traces.py", "Scoring "): _V1,
    ("runs/export/exports.py", "Exporting"): _RUNS,
    ("evals/shards/merge.py", "Merging the parts"): _RUNS,
    ("evals/imports/import_run.py", "Importing"): _RUNS,
    ("evals/viewer/text_hits.py", "Searching"): _RUNS,
    ("evals/execution/run.py", "title"): _RUN,
    ("evals/sharing/download.py", "Fetching "): _RUNS,
    ("evals/suites/suite_run.py", "self._label"): _CHECKS,
    ("hub/maintenance/backup.py", "Copying blobs"): _HUBS,
    ("hub/maintenance/backup.py", "Copying tables"): _HUBS,
    ("hub/maintenance/garbage.py", "Looking through the blobs"): _HUBS,
    ("hub/maintenance/restore.py", "Restoring blobs"): _HUBS,
    ("hub/maintenance/restore.py", "Restoring tables"): _HUBS,
    ("client/pods/watch.py", "Waiting for "): f"{_RENTING}::test_it_is_waited_for_at_a_terminal",
    ("client/pods/terminate.py", "Terminating pods"): f"{_PODS}::test_ending_pods_is_shown",
    ("client/pods/ssh/connect.py", "Reaching `"): "test_reaching.py::test_reaching_a_pod_is_shown",
    ("runtime/interpreters.py", "Preparing an interpreter for "): _RUN,
    ("runtime/search.py", "title"): _RUN,
}
"""By module and how the description begins; an expression where it begins with no word."""
