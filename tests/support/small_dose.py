"""Tests that only the whole dose runs, with those that try the same in every run.

A test that has its dose in itself says so in its own file (`tests.support.dose`). These do not change with the dose:
they take long, and others like them run always. All of them are parts of proofs (`tests.prove.proofs`).
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.dose import IN_WHOLE_DOSE, WHOLE_DOSE, some_of
from tests.support.shared_tables import REPOSITORY, both_are_here

__all__ = ["CHOSEN", "LEFT_OUT", "SOME_OF_THE_CASES", "SOME_OF_THE_TESTS", "check_rows"]

LEFT_OUT: Final = {
    "tests/spark/engine/test_hostile_work.py::test_work_that_no_cancel_ends_is_refused_in_time": (
        "test_work_past_its_time_is_stopped_with_the_limit_and_spark_goes_on"
    ),
    "tests/spark/scan/test_char_columns.py::test_update_and_merge_compare_as_the_reference_does": (
        "test_delete_takes_what_the_condition_finds_and_leaves_other_values_as_they_are_stored"
    ),
    "tests/spark/scan/test_char_columns.py::test_a_rewrite_that_pads_values_is_no_difference_between_versions": (
        "test_rows_are_padded_as_the_reference_gives_them_and_pruning_loses_none"
    ),
    "tests/spark/writes/test_skipped_rows.py::test_an_update_and_an_overwrite_find_it_too": (
        "test_a_delete_finds_the_row_that_an_erasure_finds_in_a_table_of_many_files, of one kind of bounds; "
        "tests/core/transaction/test_skipped_files.py tries every kind without rows"
    ),
    "tests/spark/writes/test_skipped_rows.py::test_sound_statistics_of_many_files_say_nothing": (
        "tests/core/transaction/test_skipped_files.py::test_a_file_that_its_footer_excludes_too_stays_skipped"
    ),
    "tests/interop/test_four_answers.py::test_the_four_never_disagree_silently": (
        "test_rows_that_fail_are_found_by_verify_or_the_audit, which asks three of the four"
    ),
    "tests/interop/test_commits_side_by_side.py::test_both_commits_say_the_same": (
        "tests/golden/test_reference_commits.py, where the commits of the reference are those that it left"
    ),
    "tests/interop/test_vacuum.py": (
        "tests/core/maintenance/test_vacuum.py, and tests/golden/test_unused_files.py beside deltalake"
    ),
    "tests/interop/test_race_with_reference.py": (
        "tests/prove/test_races.py, where deltalake is the other writer, and tests/prove/test_row_races.py"
    ),
    "tests/interop/test_log_maintenance.py": (
        "test_intents_side_by_side.py, where the reference goes on after a checkpoint, and "
        "tests/golden/test_checkpoint_readers.py, where others read ours"
    ),
    "tests/e2e/test_rows.py": "tests/web/test_row_tabs.py, and tests/web/test_open_pages.py",
    "tests/e2e/test_strip.py": "test_table_page.py, which goes by the strip, and tests/views/figures",
    "tests/spark/engine/test_start.py::test_a_start_is_followed_by_its_phases_measured_and_ended_with_the_server": (
        "test_the_time_of_a_start_is_kept_by_where_it_ran_and_without_the_address, and every test that starts Spark"
    ),
    "tests/cli/test_serving.py::test_demo_builds_serves_and_prints_one_url": (
        "tests/demo/test_warehouse.py, and test_serve_takes_the_port_and_several_roots"
    ),
    "tests/cli/test_serving.py::test_demo_is_built_once": "tests/demo/test_warehouse.py",
    "tests/cli/test_rows.py::test_interrupt_stops_the_query_and_spark_goes_on": (
        "tests/spark/engine/test_cancelled_work.py"
    ),
    "tests/interop/test_client_verdicts.py::test_delta_spark_reads_what_it_is_said_to_read_and_refuses_the_rest": (
        "tests/golden/test_client_verdicts.py of other clients, and what delta-spark is said to write"
    ),
    "tests/spark/changes/test_inferred_changes.py::test_updates_of_a_table_with_row_ids_have_both_images": (
        "test_with_keys_every_inferred_version_is_what_the_feed_recorded, and tests/spark/scan/test_row_ids.py"
    ),
    "tests/spark/changes/test_changes.py::test_recorded_feeds_of_the_golden_tables_are_those_of_their_files": (
        "test_every_recorded_range_gives_the_rows_of_the_reference, and tests/golden/test_golden_changes.py"
    ),
    "tests/spark/checks/test_constraint_check.py::"
    "test_a_constraint_is_judged_on_the_rows_as_the_reference_judged_it[constraints]": "the case constraints-null",
    "tests/spark/writes/test_conflicting_rows.py::test_changes_of_two_partitions_go_one_on_top_of_the_other[masks]": (
        "test_appends_in_between.py, where changes go on top of others or do not, and "
        "test_row_ids_stay_apart_when_a_change_goes_on_top_of_another"
    ),
    "tests/spark/scan/test_pruning.py::test_no_row_with_nan_or_the_other_zero_is_lost": (
        "tests/core/protocol/test_skipping.py"
    ),
    "tests/spark/scan/test_row_ids.py::test_every_row_names_its_file_and_its_place_there": (
        "test_ids_and_commit_versions_equal_what_the_reference_reads"
    ),
    "tests/web/test_table_reading.py::test_the_newest_part_is_known_before_the_older_commits_are_read": (
        "test_the_newest_part_is_shown_while_the_rest_is_read"
    ),
    "tests/prove/test_races.py::test_a_race_with_deltalake[disk]": "the case s3, and the race on the local disk",
    "tests/interop/test_row_changes_side_by_side.py::test_changes_of_rows_are_those_of_the_reference": (
        "test_rows_side_by_side.py, and tests/spark/writes/test_data_commands.py"
    ),
    "tests/interop/test_rows_side_by_side.py::test_tables_of_the_demo_read_alike": (
        "test_every_type_reads_alike_its_extremes_included"
    ),
    "tests/spark/writes/test_conflicting_rows.py::"
    "test_changes_of_two_partitions_go_one_on_top_of_the_other[rewrites]": (
        "test_appends_in_between.py, where changes go on top of others or do not"
    ),
    "tests/faults/test_faulty_row_writes.py::test_workers_that_die_or_have_no_disk_lose_no_row": (
        "test_whatever_request_is_struck_no_row_is_lost_or_there_twice"
    ),
    "tests/e2e/test_crawler.py::test_every_control_of_the_list_of_tables_is_answered": (
        "tests/web/test_home.py, where the list is asked, and e2e/test_states.py, where it is looked at"
    ),
    "tests/notebooks/test_stories.py::test_erasure_finds_every_copy_that_a_raw_search_finds": (
        "tests/auditing/erasure, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/interop/test_rows_side_by_side.py::test_a_mapped_table_with_masks_and_renames_reads_alike[name]": (
        "tests/spark/scan/test_reference_rows.py, and test_every_type_reads_alike_its_extremes_included"
    ),
    "tests/notebooks/test_stories.py::test_deletion_vectors_add_up_to_the_hidden_rows_of_the_log": (
        "tests/core/protocol/test_deletion_vectors.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/notebooks/test_stories.py::test_last_night_finds_the_overwrite_and_the_restore": (
        "tests/core/versions/test_diff_facts.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/notebooks/test_stories.py::test_time_travel_tells_what_changed": (
        "tests/spark/changes/test_row_diff.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/e2e/test_accessibility.py::test_axe_finds_nothing[dark]": "the case light",
    "tests/e2e/test_crawler.py::test_every_tab_of_an_odd_table_can_be_looked_at[hostile]": (
        "tests/web/test_pages.py, where hostile strings become no element and no handler"
    ),
    "tests/demo/test_warehouse.py::test_build_of_another_week_differs_in_times_alone": (
        "test_empty_folder_is_filled, and tests/demo/test_readers.py"
    ),
    "tests/notebooks/test_stories.py::test_guarded_change_refuses_then_commits": (
        "tests/e2e/test_changes.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/notebooks/test_stories.py::test_slow_query_counts_files_as_their_statistics_do": (
        "tests/spark/scan/test_pruning.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
    "tests/notebooks/test_make_notebook.py::test_lab_starts_on_the_port_asked_for_and_lists_the_notebooks": (
        "test_widget_in_lab.py, which starts JupyterLab"
    ),
    "tests/core/versions/test_kept_columns.py::test_every_version_answers_as_if_nothing_was_kept": (
        "test_of_every_shape_every_version_answers_as_if_nothing_was_kept"
    ),
    "tests/e2e/test_states.py::test_a_new_visit_counts_what_came_since_the_last_one_until_it_is_marked_as_seen": (
        "tests/web/test_home.py and tests/web/test_morning.py"
    ),
    "tests/e2e/test_states.py::test_a_table_that_is_deleted_under_an_open_page_is_said_with_a_way_on": (
        "tests/web/test_open_pages.py"
    ),
    "tests/e2e/test_crawler.py::test_every_control_of_a_tab_is_answered": (
        "tests/web/test_session.py, where every control of every tab draws it again"
    ),
    "tests/notebooks/test_stories.py::test_tour_shows_the_newest_version_and_links_two_widgets": (
        "test_widget_in_lab.py, which runs the tour, and tests/jupyter/test_traits.py"
    ),
    "tests/spark/engine/test_start.py::"
    "test_without_java_the_tab_of_rows_says_at_once_what_to_install_and_other_tabs_say_nothing": (
        "tests/cli/test_rows.py, where rows without Java say what to install"
    ),
    "tests/interop/test_features_side_by_side.py::test_the_reference_goes_on_while_features_come_and_go": (
        "test_intents_side_by_side.py, and what test_client_verdicts.py writes"
    ),
    "tests/interop/test_new_tables.py::test_the_reference_fills_a_table_that_we_made": (
        "tests/core/transaction/test_create_table.py, and tests/spark/writes/test_first_rows.py"
    ),
    "tests/interop/test_intents_read_by_others.py::test_others_read_the_rows_after_every_intent": (
        "test_intents_side_by_side.py, where the reference reads them"
    ),
    "tests/spark/engine/test_connect.py::test_a_connect_server_gives_the_same_rows": (
        "the same tests in a session of its own"
    ),
    "tests/spark/writes/test_rows_past_the_driver.py::test_only_what_is_said_of_files_comes_here": (
        "tests/spark/writes/test_row_widths.py"
    ),
    "tests/spark/writes/test_random_operations.py::test_rows_feed_and_ids_are_those_of_a_plain_model": (
        "tests/spark/writes/test_data_commands.py, and test_every_row_counts.py beside a model in Python"
    ),
    "tests/spark/changes/test_random_changes.py::test_what_changed_is_what_the_model_says": (
        "tests/spark/changes/test_inferred_changes.py"
    ),
    "tests/spark/writes/test_purge.py::test_no_dropped_column_is_left_in_a_stored_file_of_the_newest_version": (
        "tests/spark/writes/test_every_row_counts.py, where dropped columns are purged under a condition"
    ),
    "tests/spark/writes/test_purge.py::"
    "test_only_files_that_mask_a_matching_row_are_rewritten_and_an_emptied_one_goes": (
        "tests/spark/writes/test_every_row_counts.py, where a purge under a condition takes some files"
    ),
    "tests/spark/changes/test_inferred_changes.py::test_rows_that_a_deletion_only_moved_are_no_changes": (
        "test_inferred_changes_are_those_that_the_feed_recorded"
    ),
    "tests/spark/scan/test_pruning.py::test_rows_found_are_the_same_as_without_statistics": (
        "test_only_files_that_may_match_are_read"
    ),
    "tests/spark/writes/test_z_order.py::test_a_curve_lets_a_reader_skip_most_files_by_either_column": (
        "test_curve_cuts_the_columns_of_a_full_sample_into_ranges_of_as_many_rows"
    ),
    "tests/prove/test_races.py::test_a_race_on_s3": "the race on the local disk, and that with deltalake on S3",
    "tests/prove/test_row_races.py::test_a_race_of_changes_of_rows[s3-True]": "the case disk-False",
    "tests/e2e/test_panel_serve.py": "tests/cli/test_serving.py",
    "tests/e2e/test_changes.py::test_a_rule_is_held_against_the_rows_and_what_breaks_it_is_shown": (
        "tests/web/act, and tests/spark/checks"
    ),
    "tests/e2e/test_case.py::test_a_case_outlives_a_reload_and_is_a_file_that_another_window_opens": (
        "tests/web, where a case is kept"
    ),
    "tests/notebooks/test_make_notebook.py::test_demo_tables_are_built_first": "tests/demo/test_warehouse.py",
    "tests/cli/test_serving.py::test_port_that_is_taken_is_refused": ("test_serve_takes_the_port_and_several_roots"),
    "tests/cli/test_changes.py::test_inferred_updates_are_paired_by_key_in_every_format": (
        "tests/spark/changes/test_inferred_changes.py"
    ),
    "tests/cli/test_patience.py::test_terminal_is_told_what_takes_long[1.6-True]": "test_pipe_is_told_nothing",
    "tests/web/test_table_reading.py::test_who_waits_for_a_reading_that_is_ended_does_not_begin_it_again": (
        "test_the_newest_part_is_shown_while_the_rest_is_read"
    ),
    "tests/web/test_table_reading.py::test_the_reading_can_be_ended_and_begun_again": (
        "test_the_newest_part_is_shown_while_the_rest_is_read"
    ),
    "tests/demo/test_warehouse.py::test_older_edition_is_replaced": "test_empty_folder_is_filled",
    "tests/demo/test_warehouse.py::test_demo_warehouse_where_the_variable_says_is_left_alone": (
        "test_present_warehouse_is_left_alone"
    ),
    "tests/interop/test_catalog_tables.py": (
        "test_intents_side_by_side.py, where the reference's tables are opened by their folder"
    ),
    "tests/interop/test_stored_columns.py": (
        "tests/spark/scan/test_row_ids.py, and tests/data_files/test_rows_at_hand.py of partition columns in files"
    ),
    "tests/core/versions/test_successor.py::test_every_log_is_the_same_when_it_is_followed[reference]": (
        "the case golden"
    ),
    "tests/faults/test_maintenance_faults.py::"
    "test_a_clean_up_that_fails_at_any_deletion_is_taken_up_again[answer lost]": ("the case in which it is done late"),
    "tests/faults/test_maintenance_faults.py::test_a_clean_up_that_fails_at_any_deletion_is_taken_up_again[fails]": (
        "the case in which it is done late"
    ),
    "tests/demo/test_warehouse.py::test_second_build_of_a_week_is_the_same_byte_for_byte": (
        "test_empty_folder_is_filled, and tests/demo/test_readers.py"
    ),
    "tests/auditing/test_footers.py::test_no_table_of_other_writers_is_said_to_have_wrong_statistics": (
        "test_true_statistics_are_no_finding"
    ),
    "tests/e2e/test_forms.py": "tests/web/act/test_pages.py",
    "tests/e2e/test_changes.py::test_a_rule_is_accepted_unseen_committed_and_stands_in_the_history": (
        "test_the_reason_and_the_name_outlive_a_reload_and_the_reason_ends_with_its_commit, which starts no Spark"
    ),
    "tests/e2e/test_tabs.py::test_on_a_telephone_nothing_is_wider_than_the_window[changes]": (
        "other tabs, which start no Spark"
    ),
    "tests/e2e/test_report.py": "tests/report/test_report.py, and test_accessibility.py of the pages",
    "tests/properties/test_random_histories.py::test_what_we_write_beside_a_history_tells_the_same": (
        "test_every_version_is_the_model_by_every_way, and tests/golden/test_written_checkpoints.py"
    ),
    "tests/spark/scan/test_damaged_rows.py::test_without_damage_every_call_has_its_answer": (
        "the tests of each call in tests/spark"
    ),
    "tests/spark/scan/test_predicate.py::test_a_filter_may_look_at_the_clock_and_sees_no_hidden_column": (
        "tests/spark/scan/test_scan.py, where filters are asked"
    ),
    "tests/spark/writes/test_identity_values.py::test_the_feed_of_an_overwrite_has_the_values_that_the_rows_got": (
        "test_a_merge_keeps_the_values_that_it_gives_and_makes_the_others, and the feed of overwrites in "
        "test_every_row_counts.py"
    ),
    "tests/spark/writes/test_batches.py::test_of_two_writers_of_one_batch_one_writes_it_and_the_other_finds_it": (
        "test_a_batch_that_comes_again_is_found, and tests/prove/test_row_races.py"
    ),
    "tests/spark/writes/test_conflicting_rows.py::"
    "test_two_changes_of_one_file_conflict_and_the_loser_is_told_which_file_and_who[rewrites]": "the case masks",
    "tests/spark/log/test_replay_tasks.py::"
    "test_the_tasks_make_of_every_shared_table_what_its_snapshot_says[golden_root]": (
        "tests/spark/log/test_files_frame.py on the reference tables, and "
        "test_every_division_of_every_shape_gives_the_replay_in_one_process"
    ),
    "tests/golden/test_client_verdicts.py::"
    "test_a_client_reads_what_it_is_said_to_read_refuses_the_rest_and_errs_where_that_is_said[duckdb HEAD 2026-07]": (
        "tests/golden/test_independent_readers.py, where DuckDB reads too, and other clients"
    ),
    "tests/golden/test_client_verdicts.py::"
    "test_a_client_reads_what_it_is_said_to_read_refuses_the_rest_and_errs_where_that_is_said"
    "[deltalake to_pyarrow 1.6.6]": "deltalake by its other way, and other clients",
    "tests/jupyter/test_static_picture.py::test_a_notebook_saved_with_its_state_is_small": (
        "test_plotly_is_sent_when_a_page_asks_and_is_no_state"
    ),
    "tests/notebooks/test_stories.py::test_rename_follows_columns_and_not_names": (
        "tests/core/versions/test_diff_facts.py, and test_lake_audit_ranks_the_broken_table_first"
    ),
}
"""A file, a test or a case of one -> what every run tries of the same."""

SOME_OF_THE_CASES: Final = {
    "tests/cli/test_credentials.py::test_no_command_repeats_credentials_of_an_address": 6,
    "tests/spark/engine/test_expressions.py::test_a_text_that_a_setting_gives_another_meaning_is_refused": 1,
    "tests/spark/engine/test_failures.py::test_a_failure_of_spark_is_said_in_words": 7,
    "tests/spark/scan/test_char_columns.py::"
    "test_delete_takes_what_the_condition_finds_and_leaves_other_values_as_they_are_stored": 1,
    "tests/spark/scan/test_char_columns.py::test_other_spellings_and_collations_decide_comparisons_in_each_path": 2,
    "tests/spark/scan/test_links.py::test_rows_behind_a_link_inside_the_allowed_places_are_read": 2,
    "tests/spark/scan/test_links.py::test_two_files_of_the_log_that_are_one_on_disk_give_their_rows_once_each": 1,
    "tests/spark/scan/test_links.py::test_without_places_spark_and_the_store_read_the_same_file": 2,
    "tests/spark/writes/test_source_places.py::test_a_pattern_that_names_no_file_is_refused": 2,
    "tests/spark/writes/test_skipped_rows.py::"
    "test_a_delete_finds_the_row_that_an_erasure_finds_in_a_table_of_many_files": 1,
    "tests/demo/test_readers.py::test_duckdb_reads_the_rows_of_every_version": 1,
    "tests/faults/test_damaged_logs.py::test_damage_that_once_got_through": 4,
    "tests/faults/test_damaged_logs.py::test_damaged_built_tables": 2,
    "tests/faults/test_damaged_logs.py::test_damaged_golden_tables": 2,
    "tests/faults/test_faulty_row_writes.py::test_a_plan_writes_nothing_even_where_it_fails": 1,
    "tests/faults/test_faulty_row_writes.py::test_whatever_request_is_struck_no_row_is_lost_or_there_twice": 1,
    "tests/faults/test_maintenance_faults.py::"
    "test_a_checkpoint_that_fails_at_any_request_leaves_the_table_as_it_was": 6,
    "tests/faults/test_refusing_disks.py::test_a_full_disk_leaves_a_whole_commit_or_none": 3,
    "tests/golden/test_reference_commits.py::test_an_intent_commits_what_the_reference_committed": 100,
    "tests/golden/test_reference_tables.py::test_lifetimes_and_diffs_agree_with_replay": 20,
    "tests/golden/test_unused_files.py::test_what_is_unused_is_what_deltalake_finds_unused_and_never_a_live_file": 60,
    "tests/golden/test_written_checkpoints.py::test_a_checkpoint_of_ours_gives_the_state_that_it_was_made_of": 80,
    "tests/jupyter/test_golden_tables.py::test_golden_table_is_drawn_or_refused_in_words": 20,
    "tests/views/test_strip_against_reference.py::test_bars_add_up_to_the_rows_the_reference_counts": 12,
    "tests/jupyter/test_traits.py::test_two_widgets_of_a_table_are_linked_by_any_trait": 5,
    "tests/spark/changes/test_changes.py::test_inferred_changes_are_those_of_the_files": 3,
    "tests/spark/checks/test_constraint_steps.py::test_a_constraint_is_added_only_if_every_row_satisfies_it": 9,
    "tests/spark/writes/test_batches.py::test_a_batch_that_comes_again_is_found": 2,
    "tests/spark/writes/test_batches.py::test_a_plan_that_is_committed_again_is_found": 2,
    "tests/spark/writes/test_row_intents.py::test_a_deletion_of_the_reference_leaves_the_same_rows": 2,
    "tests/spark/writes/test_row_intents.py::test_invariants_hold_for_new_rows_where_the_protocol_has_them": 1,
    "tests/spark/writes/test_row_intents.py::test_rows_that_break_a_rule_are_not_written": 2,
    "tests/spark/writes/test_text_lengths.py::test_a_text_that_is_too_long_inside_a_value_is_not_written": 2,
    "tests/views/figures/test_timeline.py::test_it_can_be_drawn_at_any_length_and_width": 8,
    "tests/views/test_table_view.py::test_every_part_of_every_version_can_be_made": 15,
    "tests/web/act/test_outcomes_kept.py::test_a_commit_that_ends_elsewhere_is_told_until_the_person_goes_on": 1,
    "tests/web/act/test_outcomes_kept.py::test_a_doubt_is_told_whatever_is_on_show_when_the_commit_breaks_off": 1,
    "tests/web/act/test_outcomes_kept.py::"
    "test_the_form_is_sent_anew_after_each_press_though_the_answer_reads_the_same": 1,
    "tests/web/test_session.py::test_every_control_of_a_tab_draws_it_again": 6,
}
"""A test of many cases -> how many of them every run tries, at even distances."""

SOME_OF_THE_TESTS: Final = {
    "tests/auditing/test_footers.py": 8,
    "tests/cli/test_rows.py": 9,
    "tests/core/transaction/test_odd_metadata.py": 6,
    "tests/core/versions/test_kept_columns.py": 6,
    "tests/core/versions/test_kept_history.py": 9,
    "tests/e2e/test_answers.py": 1,
    "tests/e2e/test_changes.py": 1,
    "tests/e2e/test_states.py": 1,
    "tests/e2e/test_table_page.py": 1,
    "tests/e2e/test_tabs.py": 2,
    "tests/notebooks/test_stories.py": 10,
    "tests/spark/engine/test_cancelled_work.py": 3,
    "tests/spark/engine/test_start.py": 6,
    "tests/spark/log/test_files_frame.py": 3,
    "tests/spark/log/test_replay_tasks.py": 4,
    "tests/spark/rows/test_key_history.py": 6,
    "tests/spark/rows/test_preview.py": 6,
    "tests/spark/rows/test_row_pages.py": 3,
    "tests/spark/scan/test_damaged_rows.py": 3,
    "tests/spark/log/test_file_commands.py": 3,
    "tests/spark/scan/test_golden_rows.py": 24,
    "tests/spark/scan/test_object_stores.py": 5,
    "tests/spark/scan/test_predicate.py": 20,
    "tests/spark/scan/test_pruning.py": 5,
    "tests/spark/scan/test_reference_rows.py": 12,
    "tests/spark/scan/test_row_ids.py": 6,
    "tests/spark/scan/test_scan.py": 6,
    "tests/spark/writes/test_batches.py": 3,
    "tests/spark/writes/test_data_commands.py": 5,
    "tests/spark/writes/test_desk.py": 2,
    "tests/spark/writes/test_new_columns.py": 2,
    "tests/spark/writes/test_row_widths.py": 1,
    "tests/web/act/test_outcomes_kept.py": 9,
    "tests/web/act/test_same_change_once.py": 4,
}
"""A file -> how many of its tests and cases every run tries beside those that prove rows of the protocol: whichever,
as a mistake that one of them notices costs no rows and makes no false statement, or others notice it."""

CHOSEN: Final[Mapping[str, tuple[str, ...]]] = {
    "tests/auditing/erasure/test_erasure_proof.py": (
        "test_the_proof_finds_what_a_raw_search_finds[change-feed-partitioned]",
        "test_a_person_from_live_to_gone",
        "test_what_cannot_be_answered_is_named_and_never_absent",
    ),
    "tests/report/test_statements.py": (
        "test_it_names_each_file_that_was_read_and_claims_no_more_than_the_proof",
        "test_after_the_steps_it_says_what_became_of_the_files_that_were_found",
    ),
    "tests/spark/changes/test_change_preview.py": (
        "test_a_preview_shows_the_first_changes_and_counts_all",
        "test_a_row_diff_preview_has_some_of_each_kind_and_exact_counts",
    ),
    "tests/spark/changes/test_row_diff.py": (
        "test_the_difference_of_versions_is_that_of_their_rows[column-mapping-False]",
        "test_keys_match_nulls_and_both_zeros_and_name_what_changed",
        "test_a_repeated_key_is_not_matched_and_is_counted",
    ),
    "tests/spark/checks/test_column_profile.py": (
        "test_columns_are_counted_and_bounded_over_live_rows",
        "test_a_wrong_statistic_is_a_finding_that_names_the_file",
    ),
    "tests/spark/checks/test_constraint_check.py": (
        "test_counts_places_and_samples_are_those_of_another_engine",
        "test_one_that_fails_on_a_row_does_not_keep_the_others_from_their_answer",
    ),
    "tests/spark/checks/test_row_guards.py": (
        "test_a_predicate_that_fails_on_a_row_is_a_failed_guard",
        "test_rows_that_cannot_be_read_leave_the_guard_unknown",
        "test_rows_are_looked_at_again_when_others_came_first",
    ),
    "tests/spark/writes/test_changing_sources.py": (
        "test_values_that_differ_at_each_reading_are_those_of_the_commit",
        "test_several_rows_that_match_one_row_are_named_and_nothing_is_written",
    ),
    "tests/spark/writes/test_column_values.py": (
        "test_nested_fields_go_by_their_names",
        "test_a_nested_field_that_is_missing_is_null_and_a_null_struct_stays_null",
        "test_a_value_that_does_not_fit_its_type_fails_and_is_never_made_null",
    ),
    "tests/spark/writes/test_conflicting_rows.py": (
        "test_rows_appended_first_come_after_a_deletion_where_the_table_allows_it[Serializable-conflicted]",
    ),
}
"""A file -> its tests, or cases of them, that every run tries beside those that prove rows of the protocol: of these
files a mistake would lose or keep rows, or call something erased, right or compared that is not."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is left to the whole dose, and say where its small dose is."""
    names = {item: _name(item) for item in items}
    chosen = config.option.keyword or config.option.markexpr or any("::" in str(argument) for argument in config.args)
    # A person's own run may have been narrowed in other ways, such as to what failed last.
    if os.environ.get("CI") and not chosen:
        _check({known for name in names.values() for known in _names_of(name)})
    if WHOLE_DOSE:
        return
    for item in items:
        small = next((LEFT_OUT[name] for name in _names_of(names[item]) if name in LEFT_OUT), None)
        if small is not None:
            _leave(item, f"the small one: {small}")
    _leave_some_cases(items, names)
    _leave_some_tests(items, names)
    # Where the tables made by others are absent, tests of many rows are not there to be run instead.
    if [Path(argument).resolve() for argument in config.args] == [config.rootpath / "tests"] and both_are_here():
        check_rows(items)


def _leave_some_cases(items: list[pytest.Item], names: Mapping[pytest.Item, str]) -> None:
    of_tests = _grouped(items, lambda item: names[item].partition("[")[0])
    for test, most in SOME_OF_THE_CASES.items():
        # In the order of the parameters, whatever the order of the run: the same cases always.
        cases = sorted(of_tests[test], key=_place)
        tried = {names[item] for item in some_of(cases, most)}
        for item in cases:
            if names[item] not in tried:
                _leave(item, f"{most} cases run always")


def _leave_some_tests(items: list[pytest.Item], names: Mapping[pytest.Item, str]) -> None:
    of_files = _grouped(items, lambda item: names[item].partition("::")[0])
    for file in (*SOME_OF_THE_TESTS, *CHOSEN):
        of_file = (item for item in of_files[file] if not _is_settled(item))
        free = sorted(of_file, key=lambda item: (item.location[1] or 0, _place(item)))
        if file in CHOSEN:
            chosen = {f"{file}::{test}" for test in CHOSEN[file]}
            tried = {names[item] for item in free if not chosen.isdisjoint(_names_of(names[item]))}
        else:
            tried = {names[item] for item in some_of(free, SOME_OF_THE_TESTS[file])}
        for item in free:
            if names[item] not in tried:
                _leave(item, f"{len(tried)} tests of this file run always")


def check_rows(items: list[pytest.Item]) -> None:
    """Refuse to leave out every test of a row of the protocol."""
    rows: dict[bool, set[str]] = {True: set(), False: set()}
    for item in items:
        left = any(IN_WHOLE_DOSE in mark.kwargs.get("reason", "") for mark in item.iter_markers("skip"))
        rows[left].update(str(name) for mark in item.iter_markers("conformance") for name in mark.args)
    if lost := rows[True] - rows[False]:
        raise pytest.UsageError("tests/support/small_dose.py leaves out every test of these rows:", *sorted(lost))


def _grouped(items: list[pytest.Item], key: Callable[[pytest.Item], str]) -> Mapping[str, list[pytest.Item]]:
    found: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


def _leave(item: pytest.Item, small: str) -> None:
    item.add_marker(pytest.mark.skip(reason=f"{IN_WHOLE_DOSE}: make prove; {small}"))


def _is_settled(item: pytest.Item) -> bool:
    """Whether a test runs always, as it proves rows of the protocol, or is left to the whole dose already."""
    return item.get_closest_marker("conformance") is not None or item.get_closest_marker("skip") is not None


def _place(item: pytest.Item) -> list[int]:
    """The places of a case's parameters among those of its test; none of a test without parameters."""
    assert isinstance(item, pytest.Function)
    return list(item.callspec.indices.values()) if hasattr(item, "callspec") else []


def _names_of(case: str) -> tuple[str, str, str]:
    """The names under which a case may be left out: its own, its test's and its file's."""
    return case, case.partition("[")[0], case.partition("::")[0]


def _name(item: pytest.Item) -> str:
    """What a test is called here: without the browser that a test of pages is given."""
    return item.nodeid.replace("[chromium]", "").replace("[chromium-", "[")


def _check(known: set[str]) -> None:
    """Refuse names of tests that are gone from a file of this run."""
    files = {name.partition("::")[0] for name in known}
    named = (*LEFT_OUT, *SOME_OF_THE_CASES, *(f"{file}::{test}" for file, some in CHOSEN.items() for test in some))
    gone = [name for name in named if name.partition("::")[0] in files and name not in known]
    gone += [file for file in SOME_OF_THE_TESTS if not (REPOSITORY / file).is_file()]
    if gone:
        raise pytest.UsageError("tests/support/small_dose.py names tests that are gone:", *gone)
