"""What every test may ask for: where the checkout is, and the command line, inside this process or as one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import settings

from icore_kernel import cli
from icore_kernel.theory_files import theory_directory

CHECKOUT = Path(__file__).resolve().parent.parent

# The nightly setting looks for longer; CI's examples are derandomised, so that a red run can be repeated.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fast", deadline=None, derandomize=True, max_examples=25, print_blob=True)
settings.register_profile("nightly", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile(os.environ.get("ICORE_TESTS", "ci"))

# A shell without job control starts what runs behind it with SIGINT ignored, and that is inherited: the tests that interrupt would wait
# for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("explore_lab")

Icore = Callable[..., "subprocess.CompletedProcess[str]"]
Command = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.fixture(scope="session")
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture
def icore(tmp_path: Path) -> Icore:
    """Run `icore` as a process of its own, in an empty folder unless `cwd` is given, with an empty HOME and no terminal."""

    def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if name not in ("ICORE_DEBUG", "NO_COLOR", "COLUMNS")}
        return subprocess.run(
            [sys.executable, "-m", "icore_kernel", *arguments],
            cwd=cwd or tmp_path,
            env={**inherited, "HOME": str(home), **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `icore` inside this process: exit status, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write declarations as a package P, in a file of the test's own folder."""

    def written(text: str, name: str = "package.icore") -> Path:
        path = tmp_path / name
        path.write_text(f"language 1\npackage P\n{text}", encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="session")
def theory() -> Path:
    """The folder whose theory a test is about. `test_claims.py` calls such tests again with a folder that lacks a clause."""
    return theory_directory()


# Each is a sibling of quicker tests of the same thing: the long ones run in the nightly setting.
NIGHTLY_ONLY = (
    "test_random_packages.py::test_at_least_a_third_are_violated",
    "test_prove_proofs.py::test_a_bug_planted_in_it_is_found",
    "test_replay.py::test_a_random_change_of_what_was_done_is_found_and_nothing_fails_over_one[400]",
    "test_native.py::test_examples_are_explored_as_by_the_other_engines[Unaudited(through=None)-release_pipeline]",
    "test_native.py::test_examples_are_explored_as_by_the_other_engines[Unaudited(through=None)-binary_coverage]",
    "test_checkpoint.py::test_a_search_killed_at_random_moments_ends_with_the_same_counts[numpy-20]",
    "test_checkpoint.py::test_a_search_killed_at_random_moments_ends_with_the_same_counts[native-20]",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[decompose_and_solve]",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[binary_coverage]",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[release_pipeline]",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[repair_verification]",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[compatible_merge]",
)
NIGHTLY_FAMILIES = (
    "test_random_packages.py::test_packages_are_explored_alike_by_everything[",
    "test_audit_commit.py::test_solver_and_evaluation_break_the_same_clauses_in_two_hundred_states[",
    "test_audit_repair.py::test_the_naive_search_finds_the_same_in_a_hundred_states[",
    "test_audit_repair.py::test_plans_by_anybody_are_as_short_as_the_naive_search_says_everywhere[",
    "test_audit_repair.py::test_many_runs_with_faults_are_repaired[",
    "test_audit_runs.py::test_every_state_of_many_runs_is_one_that_check_explores[",
    "test_audit_runs.py::test_proposition_5_on_two_thousand_runs[",
    "test_export.py::test_a_peer_finds_the_states_of_a_package[",  # each compiles a model; the closed forms are asked of peers always
    "test_export.py::test_a_peer_finds_the_states_of_random_systems[",
)


SAMPLED = (
    "test_audit_interrupted.py::test_an_interruption_after_any_entry_leaves_an_intact_record[",
    "test_audit_runs.py::test_proposition_5_on_runs_with_faults[",
    "test_claims.py::test_without_it_the_test_of_the_map_fails[",
    "test_examples.py::test_a_fault_alone_makes_the_unaudited_system_unsound_by_a_shortest_run[",
    "test_examples.py::test_exit_statuses_audited_strict_and_unaudited[",
    "test_mutation.py::test_packages_report_what_the_run_expects[",
    "test_prove_seeded.py::test_exploration_finds_it[",
    "test_record_graphs.py::test_definition_3[",
    "test_record_graphs.py::test_definitions_1_and_5[",
    "test_record_graphs.py::test_lemma_4[",
    "test_record_graphs.py::test_exports[",
    "test_replay.py::test_what_differs_from_the_package_is_named[",
    "test_runs_io.py::test_every_counterexample_of_the_examples_is_borne_out[",
    "test_export.py::test_a_peer_finds_the_closed_form[",
    "test_ground_meanings.py::test_scalar_and_vector_agree_on_every_term[",
    "test_ground_meanings.py::test_the_solver_agrees_on_every_clause_and_on_terms_of_every_kind[",
    "test_native.py::test_examples_are_explored_as_by_the_other_engines[",
    "test_parse_size.py::test_endless_nesting_is_a_mistake_and_not_a_crash[",
    "test_partial_order.py::test_examples_have_the_same_verdicts_under_every_reduction[",
    "test_prove_engines.py::test_the_examples_are_answered_alike[",
    "test_prove_engines.py::test_thirty_random_systems_are_answered_alike[",
    "test_prove_proofs.py::test_nine_tenths_of_the_pairs_are_proved_and_every_fault_is_refused[",
    "test_prove_seeded.py::test_proof_finds_it_too[",
    "test_record_graphs.py::test_definition_2[",
    "test_stable.py::test_a_truncated_exploration_never_gives_a_verdict[",
    "test_stable.py::test_the_order_of_declarations_changes_no_verdict_and_no_count[",
    "test_terms.py::test_terms_twenty_thousand_deep_are_built_read_printed_and_encoded[",
    "test_theory_is_read.py::test_renamed_clauses_and_definitions_decide_the_same[",
    "theorems/test_lemma_2.py::test_where_only_what_is_written_is_judged_the_state_before_must_be_feasible[",
    "theorems/test_proposition_2.py::",
    "theorems/test_proposition_5.py::test_what_is_lost_counts_nothing_in_every_state_of_the_theory[",
    "theorems/test_theorem_3.py::test_packages[",
)
"""Families of which one test in three is run outside the nightly setting: always the same ones, chosen by their names."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Whoever has nothing left to do takes tests from the others: some tests take a thousand times as long as others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def _left_out(nodeid: str) -> bool:
    if nodeid.endswith(NIGHTLY_ONLY) or any(family in nodeid for family in NIGHTLY_FAMILIES):
        return True
    return any(family in nodeid for family in SAMPLED) and crc32(nodeid.rpartition("/")[2].encode()) % 3 != 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the long ones outside the nightly setting."""
    asked = os.environ.get("ICORE_TESTS")
    if asked == "nightly":
        return
    long = pytest.mark.skip(reason="long: in the nightly setting")
    for item in items:
        if _left_out(item.nodeid):
            item.add_marker(long)
        elif asked == "fast" and "[" in item.nodeid and crc32(item.nodeid.rpartition("/")[2].encode()) % 9 != 0:
            item.add_marker(pytest.mark.skip(reason="one variant in nine: the fast setting"))
