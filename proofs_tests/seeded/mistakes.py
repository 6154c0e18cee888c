"""Forty-eight mistakes, planted in the examples: written down and committed before the prover was.

Each is one plausible slip of somebody who writes a package. `breaks` names the result of a check that it must violate, and
`clause` the clause, property or end that says why: a label of spec/, `range`, `requires`, or nothing where the result says it all.
"""

# ruff: noqa: E501
# An edit quotes its example as it stands there.

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@dataclass(frozen=True)
class Mistake:
    """`edits`: (what the example says, what is written instead), each exactly once in its text."""

    name: str
    example: str
    kind: str
    edits: tuple[tuple[str, str], ...]
    breaks: str
    clause: str = ""

    def text(self) -> str:
        """The example with the mistake in it."""
        text = (EXAMPLES / f"{self.example}.icore").read_text(encoding="utf-8")
        for old, new in self.edits:
            pattern = re.compile(re.sub(r"(?:\\ )+", " +", re.escape(old)))  # however the columns are aligned
            if len(pattern.findall(text)) != 1:
                raise ValueError(f"{self.name}: {old!r} is in {self.example} {len(pattern.findall(text))} times")
            text = pattern.sub(lambda _, new=new: new, text)  # type: ignore[misc]
        return text


GUARD, MISSING, FORGOTTEN, PREMISE = "a guard weakened", "a certificate not issued", "a revocation forgotten", "a premise dropped"
ASSIGNEE, VERSION, STATUS, SIGNATURE = "an infeasible assignee", "a version not bumped", "a wrong status", "a signature not reset"
ISSUER, CASCADE, VALUE, END = "a wrong issuer", "a missing cascade", "a wrong value", "an end cut off"

MISTAKES = (
    # ---- the release pipeline ----------------------------------------------------------------------------------------
    Mistake(
        "no_evidence_of_completion", "release_pipeline", MISSING,
        (("  issue    done(w)\n  fault    careless:   withhold done(w)\n", ""), ("  fault    untruthful: emit report(w) { commit = head.commit, passed = false }\n", "")),
        "legality", "A.4(2)",
    ),
    Mistake(
        "sign_off_without_record", "release_pipeline", MISSING,
        (("  set     status(w) := accepted\n  issue   ok(w)\n", "  set     status(w) := accepted\n"),), "legality", "A.4(2)",
    ),
    Mistake(
        "anybody_may_take_it", "release_pipeline", GUARD,
        (("  requires feasible(m, w)  # otherwise the attempt is refused\n", ""),), "legality", "A.4(6)",
    ),
    Mistake(
        "released_from_old_evidence", "release_pipeline", FORGOTTEN,
        (("    set     status(w) := if first(w) then ready else blocked, commit(w) := none\n    revoke  done(w), ok(w), failed(w), doomed(w), enabled(w)\n",
          "    set     status(w) := if first(w) then ready else blocked, commit(w) := none\n    revoke  done(w), failed(w), doomed(w), enabled(w)\n"),),
        "legality", "A.4(5)",
    ),
    Mistake(
        "push_without_cascade", "release_pipeline", CASCADE,
        (("for w in Step where status(w) in {closed, accepted, rejected} or (status(w) == ready and not first(w)) {",
          "for w in Step where status(w) in {accepted, rejected} or (status(w) == ready and not first(w)) {"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "signature_survives_the_push", "release_pipeline", SIGNATURE,
        (("status(w) := if first(w) then ready else blocked, commit(w) := none", "status(w) := if first(w) then ready else blocked"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "fails_as_closed", "release_pipeline", STATUS,
        (("passed = false }\n  set      status(w) := rejected\n  issue    failed(w)", "passed = false }\n  set      status(w) := closed\n  issue    failed(w)"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "reports_the_first_commit", "release_pipeline", VERSION,
        (("  emit     report(w) { commit = head.commit, passed = true }\n  set", "  emit     report(w) { commit = 1, passed = true }\n  set"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "reports_a_failure_as_done", "release_pipeline", VALUE,
        (("  emit     report(w) { commit = head.commit, passed = true }\n  set", "  emit     report(w) { commit = head.commit, passed = false }\n  set"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "enabled_by_one_alone", "release_pipeline", GUARD,
        (("not first(w) and forall p in Step where needs(p, w): valid(ok(p))", "not first(w)"),), "legality", "A.4(2)",
    ),
    Mistake(
        "signed_off_unread", "release_pipeline", GUARD,
        (("  when    status(w) == closed and valid(done(w))\n", "  when    status(w) in {ready, closed}\n"),), "legality", "A.4(2)",
    ),
    Mistake(
        "pushed_after_the_release", "release_pipeline", GUARD,
        (("head.commit == 1 and status(release) not in {accepted, rejected}", "head.commit == 1"),
         ("  for w in Step where status(w) in {closed, accepted, rejected} or", "  for w in Step where w != release and status(w) in {closed, accepted, rejected} or")),
        "legality", "A.4(7)",
    ),
    Mistake(
        "nothing_dooms", "release_pipeline", END,
        (("  set   status(w) := rejected\n  issue doomed(w)\n", "  set   status(w) := blocked\n"),), "dead ends",
    ),
    Mistake(
        "workers_sign_off", "release_pipeline", ISSUER,
        (("certificate ok(w: Step) {\n  issuer   monitor", "certificate ok(w: Step) {\n  issuer   assignee(w)"),), "legality", "definition 6(ii)",
    ),
    # ---- the dependency ladder ---------------------------------------------------------------------------------------
    Mistake(
        "rung_without_support", "dependency_ladder", GUARD,
        (("status(w) == blocked and exists p in Rung where needs(p, w): valid(done(p))", "status(w) == blocked"),), "legality", "A.4(2)",
    ),
    Mistake(
        "wrong_height", "dependency_ladder", VALUE,
        (("emit result(w) { value = w.height }", "emit result(w) { value = 1 }"),), "legality", "A.4(2)",
    ),
    Mistake(
        "doom_leaves_no_record", "dependency_ladder", MISSING,
        (("    set status(q) := rejected\n    issue doomed(q)\n", "    set status(q) := rejected\n"),), "legality", "A.4(2)",
    ),
    Mistake(
        "weak_agent_climbs", "dependency_ladder", ASSIGNEE,
        (("  requires feasible(m, w)\n", ""),), "legality", "A.4(6)",
    ),
    Mistake(
        "only_the_next_rung_is_doomed", "dependency_ladder", CASCADE,
        (("  when active(failed(w)) and exists q in Rung where needs+(w, q): unresolved(q)\n  for q in Rung where needs+(w, q) {",
          "  when active(failed(w)) and exists q in Rung where needs(w, q): unresolved(q)\n  for q in Rung where needs(w, q) {"),),
        "dead ends",
    ),
    # ---- binary coverage ---------------------------------------------------------------------------------------------
    Mistake(
        "wrong_point", "binary_coverage", VALUE,
        (("  when status(w) == ready and assignee(w) == m\n  emit result(w) { value = w.target }", "  when status(w) == ready and assignee(w) == m\n  emit result(w) { value = 1 - w.target }"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "duplicate_spoils_the_result", "binary_coverage", VALUE,
        (("  when status(w) == closed and assignee(w) == m\n  emit result(w) { value = w.target }\n  issue done(w)", "  when status(w) == closed and assignee(w) == m\n  emit result(w) { value = 0 }"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "submitted_in_part", "binary_coverage", GUARD,
        (("  when forall w in Point: status(w) == closed and valid(done(w))\n", "  when exists w in Point: status(w) == closed and valid(done(w))\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "stuck_without_evidence", "binary_coverage", MISSING,
        (("  report stuck\n  issue split_outcome\n", "  report stuck\n"),), "legality", "A.4(2)",
    ),
    # ---- capability assignment ---------------------------------------------------------------------------------------
    Mistake(
        "reassigned_to_whoever_is_there", "capability_assignment", ASSIGNEE,
        ((" and declared(m, w) - present_worth(w) > tolerance and feasible(m, w)", ""),), "legality", "A.4(6)",
    ),
    Mistake(
        "answer_is_off_by_one", "capability_assignment", VALUE,
        (("emit answer(w) { value = w.exact }", "emit answer(w) { value = w.exact + 1 }"),), "legality", "range",
    ),
    Mistake(
        "halts_early", "capability_assignment", GUARD,
        (("  when split\n  report stuck", "  when exists w in Item: status(w) == rejected\n  report stuck"),), "legality", "A.4(2)",
    ),
    Mistake(
        "accepted_unsigned", "capability_assignment", MISSING,
        (("  set status(w) := accepted\n  issue ok(w)\n", "  set status(w) := accepted\n"),), "legality", "A.4(2)",
    ),
    # ---- the code change ---------------------------------------------------------------------------------------------
    Mistake(
        "push_keeps_old_verdicts", "code_change", FORGOTTEN,
        (("  for w in Check where needs(w, c) and status(w) in {closed, rejected} {\n", "  for w in Check where needs(w, c) and status(w) == rejected {\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "merged_unread", "code_change", GUARD,
        (("  when status(c) == blocked and forall w in Check where needs(w, c): valid(passed(w))\n", "  when status(c) == blocked\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "merged_as_the_first_revision", "code_change", VERSION,
        (("revision(c) := head.revision\n", "revision(c) := 1\n"),), "merged_as_seen",
    ),
    Mistake(
        "author_reviews", "code_change", ASSIGNEE,
        (("w.duty in m.duties and (m == ada implies w.duty == write)", "w.duty in m.duties"),), "four_eyes",
    ),
    Mistake(
        "reopened_without_a_reason", "code_change", MISSING,
        (("    discard verdict(w)\n    issue due(w)\n", "    discard verdict(w)\n"),), "legality", "A.4(2)",
    ),
    # ---- the literature answer ---------------------------------------------------------------------------------------
    Mistake(
        "retraction_overlooked", "literature_answer", CASCADE,
        (("  for w in Answer where status(w) == ready and exists c in Claim: status(c) == closed and note(c).source == trial {\n    set status(w) := blocked\n    revoke complete_enough(w)\n    issue reopened(w)\n  }\n", ""),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "retracted_paper_cited", "literature_answer", GUARD,
        (("  when status(c) == ready and assignee(c) == m and not paper(s).retracted\n", "  when status(c) == ready and assignee(c) == m\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "a_reader_assembles", "literature_answer", ISSUER,
        (("update assemble(w: Answer) operation merge by mara {", "update assemble(w: Answer) operation merge by ines {"),),
        "legality", "definition 6(ii)",
    ),
    Mistake(
        "left_out_by_nobody", "literature_answer", MISSING,
        (("  set marker(c) := excluded\n  issue left_out(c)\n", "  set marker(c) := excluded\n"),), "legality", "A.4(2)",
    ),
    # ---- the compatible merge ----------------------------------------------------------------------------------------
    Mistake(
        "a_source_is_left_out", "compatible_merge", VALUE,
        (("issue merged(w) { parts = {c for c in Source where feeds(c, w)} }", "issue merged(w) { parts = {first, second} }"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "withdrawn_under_the_merge", "compatible_merge", GUARD,
        ((" and assignee(c) == m and forall w in Mix where feeds(c, w): status(w) == blocked\n", " and assignee(c) == m\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "merge_without_compatibility", "compatible_merge", PREMISE,
        (("claims status(w) is closed, compatibility(w)", "claims status(w) is closed"),), "legality", "A.4(5)",
    ),
    # ---- decompose and solve -----------------------------------------------------------------------------------------
    Mistake(
        "parts_without_a_plan", "decompose_and_solve", MISSING,
        (("    relate part_of(c, w)\n    issue split(c)\n", "    relate part_of(c, w)\n"),), "legality", "A.4(2)",
    ),
    Mistake(
        "root_goes_on_unsupported", "decompose_and_solve", GUARD,
        (("  when status(root) == blocked and forall c in Part: valid(checked(c))\n", "  when status(root) == blocked and exists c in Part: valid(checked(c))\n"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "parts_are_not_tied_to_the_root", "decompose_and_solve", PREMISE,
        (("    relate part_of(c, w)\n", ""),), "no_orphans",
    ),
    # ---- incident response -------------------------------------------------------------------------------------------
    Mistake(
        "conclusion_outlives_the_telemetry", "incident_response", SIGNATURE,
        (("set status(w) := if w == cause then ready else blocked, suspect(w) := none", "set status(w) := if w == cause then ready else blocked"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "mitigation_is_not_reopened", "incident_response", CASCADE,
        (("for w in {cause, mitigate, recovery} where status(cause) == closed", "for w in {cause} where status(cause) == closed"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "folded_without_evidence", "incident_response", MISSING,
        (("  set marker(second_alert) := duplicated\n  issue duplicate(second_alert)\n", "  set marker(second_alert) := duplicated\n"),),
        "legality", "A.4(2)",
    ),
    # ---- repair and verification -------------------------------------------------------------------------------------
    Mistake(
        "confirmed_while_pending", "repair_verification", GUARD,
        (("  when status(w) == submitted and valid(verified(w))\n", "  when status(w) == submitted\n"),), "legality", "A.4(2)",
    ),
    Mistake(
        "works_to_the_old_standard", "repair_verification", VERSION,
        (("  when status(w) == ready and assignee(w) == m and w.versioned\n  emit work(w) { value = w.target, version = standard.version }",
          "  when status(w) == ready and assignee(w) == m and w.versioned\n  emit work(w) { value = w.target, version = 1 }"),),
        "legality", "A.4(2)",
    ),
    Mistake(
        "the_flaw_is_never_repaired", "repair_verification", MISSING,
        (("  for q in Step where w == repair and q == final { issue fixed(q) }\n", ""),), "dead ends",
    ),
)  # fmt: skip
