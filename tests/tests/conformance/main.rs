//! What every engine of the store promises: one case to each sentence of the contract, run on each engine.
//!
//! The same cases run on all engines; what only a file can do is in `file`, what it costs in
//! `bounds`, and `differential` replays random histories.

#![expect(
    clippy::unwrap_used,
    reason = "a test that meets a surprise should stop there and say so"
)]

mod bounds;
mod changes;
mod claim;
mod commit;
mod differential;
mod due;
mod fair;
mod file;
mod jobs;
mod lease;
mod pause;
mod processes;
mod read;
mod release;
mod schedules;
mod server;
mod text;
mod upkeep;
mod world;

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// Makes a test of each case on each engine: `memory::commit::…`, `sqlite::commit::…`, `redis::commit::…`; and one function
/// that runs them all, one after the other.
macro_rules! on_every_engine {
    ($($module:ident { $($case:ident)* })*) => {
        on_every_engine!(@engine memory Memory { $($module { $($case)* })* });
        on_every_engine!(@engine sqlite Sqlite { $($module { $($case)* })* });
        on_every_engine!(@engine redis Redis { $($module { $($case)* })* });

        /// Runs each case in a store of its own on the ground of that world, but for some. One run names every broken case.
        async fn every_case(mut world: world::World, spread: world::Spread, but: &[&str]) -> world::World {
            let mut broken = Vec::new();
            $($(if !but.contains(&stringify!($case)) {
                eprintln!("{spread:?}: {}", stringify!($case));
                let name = format!("{spread:?}.{}", stringify!($case));
                world = world.renewed(&name, spread).await;
                let case = AssertUnwindSafe(Box::pin($module::$case(&world)));
                if case.catch_unwind().await.is_err() {
                    broken.push(stringify!($case));
                }
            })*)*
            assert!(broken.is_empty(), "{spread:?}: {broken:#?}");
            world
        }
    };
    (@engine $engine:ident $variant:ident { $($module:ident { $($case:ident)* })* }) => {
        mod $engine {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let world = crate::world::World::on(legwork_tests::engine::Engine::$variant).await;
                    crate::$module::$case(&world).await;
                })*
            })*
        }
    };
}

on_every_engine! {
    commit {
        a_submitted_job_is_claimed_and_settled
        the_same_key_and_payload_gives_the_first_run_and_writes_nothing
        the_same_key_with_another_payload_is_refused_and_shows_nothing_of_the_first
        keys_of_two_tenants_are_two_keys
        the_key_of_a_job_names_the_job
        a_known_run_or_job_is_not_inserted_again
        a_replaced_record_is_exactly_one_version_behind
        a_job_that_is_not_there_is_neither_replaced_nor_touched
        a_touched_job_gains_a_version_and_nothing_else
        of_many_commits_on_one_version_one_gets_through
        a_refused_batch_leaves_no_trace
        a_charge_that_must_fit_is_refused_past_its_bound
        the_charges_of_a_batch_count_together
        other_charges_always_apply_and_no_counter_leaves_its_range
        a_journal_continues_without_a_gap
        events_are_numbered_from_one_without_gaps_in_the_order_of_commits
        the_last_writer_of_a_file_wins
        mail_stands_in_the_order_it_was_sent_until_it_is_applied
        nothing_of_an_attempt_that_lost_its_lease_lands
    }
    release {
        the_last_parent_releases_the_child_in_the_same_commit
        counting_down_an_edge_twice_counts_once
        a_job_is_released_once
        countdowns_at_the_same_time_release_the_join_once
        a_blocked_job_that_waits_for_nobody_is_released_by_its_own_submit
        a_parent_that_has_ended_is_not_waited_for
        a_released_job_with_a_start_time_waits_for_it
        a_job_that_waits_for_children_that_have_ended_goes_on_at_once
        a_reopened_edge_is_waited_for_again
        an_edge_that_is_not_there_is_counted_down_without_effect
        jobs_that_one_commit_releases_are_told_in_the_order_of_their_ids
    }
    claim {
        a_claimed_job_is_what_apply_makes_of_it
        higher_priority_goes_first_then_turn_then_id
        only_the_named_queues_are_looked_at
        no_more_than_the_slots_are_taken
        only_queued_jobs_are_taken
        claims_at_the_same_time_never_share_a_job
        each_attempt_has_a_secret_of_its_own
        the_dependents_are_complete_as_of_the_jobs_version
    }
    lease {
        an_extended_lease_holds_longer_under_the_same_version
        a_lease_is_never_shortened
        a_lapsed_lease_that_nobody_took_still_holds
        the_answers_stand_in_the_order_of_the_tokens
        a_worker_learns_of_a_cancel_and_of_mail
    }
    jobs {
        jobs_are_found_by_run_state_name_and_parent
        following_the_pages_visits_each_job_once
        a_new_job_on_the_way_disturbs_no_paging
    }
    read {
        what_is_not_there_is_none_or_empty
        runs_of_a_tenant_are_listed_newest_first
        the_state_of_a_run_is_that_of_its_result_jobs
        edges_stand_in_the_order_of_their_ends
        a_known_edge_keeps_its_condition
        journals_and_logs_are_read_in_parts
        files_are_listed_by_the_beginning_of_their_path
        an_id_is_found_by_its_beginning
        a_replaced_run_is_read_anew
    }
    due {
        nothing_is_due_in_an_empty_store
        a_scheduled_job_is_due_at_its_time
        a_lease_is_expired_when_it_lapses
        a_job_that_nobody_took_in_time_is_overdue
        a_job_without_a_queue_timeout_waits_for_ever
        the_soonest_moment_of_all_is_the_next
        no_more_than_the_limit_is_given_and_the_rest_is_due_now
        a_cascade_stands_until_it_is_done
        the_jobs_that_a_worker_holds_are_its_running_ones
        a_worker_is_on_record_until_it_is_removed
    }
    fair {
        s51_a_run_of_many_jobs_does_not_keep_a_short_one_waiting
        s51_all_runs_get_the_same_share_whatever_their_length
        s51_jobs_that_come_one_by_one_take_turns_as_well
        s51_a_priority_goes_before_all_turns_and_takes_none_away
        s51_a_run_that_was_away_gets_no_turns_for_that
        s51_runs_of_one_job_that_keep_coming_keep_nobody_waiting
        of_several_queues_the_head_that_waits_longest_is_next
    }
    pause {
        nothing_of_a_paused_queue_is_handed_out
        nothing_of_a_paused_run_is_handed_out_whenever_it_was_queued
        attempts_under_way_go_on_and_everything_else_about_the_jobs_changes
        resumed_jobs_come_in_their_old_order
        the_first_pause_stands_and_ends_once
        a_run_that_is_not_there_cannot_be_paused
        whoever_waits_for_work_learns_of_a_resume_and_not_of_what_is_held_back
        many_jobs_of_a_paused_run_do_not_stand_in_the_way_of_others
        the_pause_of_a_run_goes_with_it
    }
    schedules {
        schedules_are_listed_by_tenant_and_name
        a_schedule_is_replaced_exactly_one_version_behind
        a_schedule_is_forgotten_once_and_its_name_is_free_again
    }
    upkeep {
        the_lead_goes_to_who_asks_first_and_stays_until_it_lapses
        a_lead_is_kept_by_asking_again_and_given_up_by_a_moment_that_has_passed
        of_many_that_ask_for_the_lead_at_once_one_gets_it
        the_newest_event_of_a_run_is_told
        an_ended_run_is_deleted_with_all_that_is_kept_of_it
        a_run_that_has_not_ended_or_was_changed_since_stays_whole
        a_run_that_is_gone_is_deleted_without_effect_and_takes_nothing_up_again
        a_long_run_is_deleted_to_its_last_job
    }
    changes {
        a_commit_shows_at_once
        a_claim_shows_at_once
        what_changes_nothing_wakes_nobody
        each_change_grows_the_counter
    }
    text {
        strange_texts_come_back_as_they_were
        strange_texts_come_back_from_logs_and_workspaces
        deep_and_exact_values_come_back_as_they_were
        a_long_text_comes_back_whole
    }
}
