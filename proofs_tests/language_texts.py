"""Texts that use every construct of the language, for the tests of parsing and formatting. They are well formed, not well typed."""

from __future__ import annotations

PACKAGE = '''\
# A comment before the header.
language 1
package Everything(n: 1..20 = 4, m: 0..3) "2.1"
import "common.icore"

enum Skill { build, test, review, }
operations deploy, roll_back

agents {                       # names that are words elsewhere
  attribute skills: set of Skill
  changing  available: bool = true
  ana   { skills = {build, test}, available = false }
  value { skills = {} }
  report
}

input request
input head { commit: 1..2 = 1, inessential note: text }
input cell(i: 1..n) { value: {0.2, 0.3, 0.5} }
artifact log(w: Step) { commit: 1..2, passed: bool }

obligation type Step {
  static    skill:  Skill
  static    weight: rational = 1
  signature commit: 1..2
  signature owner:  Agent or none
}
obligations {
  compile: Step { skill = build }             starts ready assigned ana
  release: Step { skill = test, weight = 2 }  starts blocked, required
  hotfix[i: 1..2]: Step { skill = review }    latent
  spare[1..3]: Step
}
relation needs(Step, Step) contributes support, refinement
needs = compile -> release -> {hotfix[1], hotfix[2]}, hotfix[i] -> spare[i] for i in 1..2 where i > 1
changing relation watches(Agent, Step)
clock round 0..7
clock drift -3..n + 1
initially head.commit == 1

certificate done(w: Step) {
  issuer   assignee(w)
  scope    w
  premises captured head, log(w), done(p) for p in Step where needs(p, w)
  claims   status(w) is closed, status(w) in {ready, blocked}, signature(w), needs(w, p) for p in Step
  valid    when log(w).passed
  current  when log(w).commit == head.commit
  delay    2 rounds
  revocable by monitor, assignee(w)
  neutralizes failed(w)
  field    parts: set of Step
  field    size: 1..3 = 2
  starts   active when not log(w).passed
}
certificate any_time { issuer any }

update finish(m: Agent, w: Step) operation complete by m {
  when     unresolved(w) and assignee(w) == m
  requires status(w) == ready
  view     global
  view     depth 2
  view     needs depth 1
  emit     log(w) { commit = head.commit, passed = true }
  set      status(w) := closed, commit(w) := head.commit, round := round + 1
  issue    done(w) { parts = {p for p in Step where needs*(p, w)} }, any_time
  consume  log(w)
  discard  log(w)
  create   hotfix[1]
  relate   watches(m, w)
  unrelate watches(m, w)
  revoke   done(w)
  supersede any_time
  report   accept
  for p in Step, q in {compile, release} where p != q {
    set status(p) := ready
  }
  outcome good { set status(w) := accepted }
  outcome bad {
    set status(w) := rejected
  }
  fault careless: withhold done(w)
    set status(w) := closed
  fault wrong { emit log(w) { passed = false } }
}
fault misdirect(m: Agent, k: Agent) operation assign by k { when true  set assignee(compile) := m }
update tick { report budget }

define late(w: Step): bool = round > 3 and (status(w) in {open, ready} or marker(w) not in {duplicated})
least justified(w: Step) = forall p in Step where needs(p, w): justified(p)
feasible(m: Agent, w: Step) = w.skill in m.skills
truth(m: Agent, w: Step): rational = if m == ana then 0.5 else 1 / 3
value(m: Agent, w: Step) = table {
        build  test  review
  ana:  0.94   0.70  0
  bo:   0      0.95  0.88
} at (m, w.skill)

invariant fresh: status(release) == accepted implies commit(release) == head.commit
invariant sums: sum(w in Step where late(w): w.weight) - count(w in Step where late(w)) * 2 >= -1
invariant most: max(w in Step: w.weight) <= max(1, 2, n) iff min(i in 1..n: i) == 1 or exists w in Step where late(w)
invariant arith: 7 div 2 + 7 mod 2 - n * 3 / 4 in 1..9 and not n not in 2..3
invariant reach: needs+(compile, release) and not needs*(release, compile)
reachable ships: accept
unreachable never: stuck
eventually soon: round == 7
controllable can: accept
leadsto answered: status(release) == ready ~> status(release) in {accepted, rejected}
bound good: quality >= 0.8 when accept
check termination, settlement, order stability given assign.m, finish or fail on status, report
fair weak push
fair strong finish, enable
symmetric agents cy, bo
run happy: assign(ana, compile); finish.careless(ana, compile); tick; expect accept
run nothing: expect true
allow vacuous `hotfix` because "latent work is for incidents"
allow unread because "later"
expect violated fresh
expect violated `finish.careless`

audit {
  tolerance 0.05  floor 0.65  threshold 0.8  patience 3  budget 40
  progress  some w in Step where late(w): status(w) changes to closed
  repairs   { assignment: cy  work: assignee, proposer }
}
# The last word.
'''

THEORY = '''\
theory "1"

export primitive status(w: Obligation): Status "the status of w"
primitive stamp: 0..9 or none "a number"
export define accept = forall w in Obligation: status(w) == accepted
feasibility "A.2(1)" (u: Update): feasible(u)
legality "A.4(1)" before (u: Update): true
legality "A.4(2)" after (u: Update): true
soundness "A.5": true
accept "A.6": true
reject "A.7": false
stuck "A.8": false
outcome "A.9": true
report "A.10": true
hypothesis "A.11": true
conclusion "A.12": true
measure "A.13" (a: Assertion): 1
evaluated "A.14": 2
finding "A.15": true
'''

LIBRARY = "library Common\nenum Colour { red, green }\n"
