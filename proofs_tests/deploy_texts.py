"""A package as a newcomer wrote it, and the mistakes in it that its reports are about."""

from __future__ import annotations

DEPLOY = """\
# review by somebody else than the author, tests on the reviewed commit, deploy needs both
language 1
package Deploy "0.1"

agents {
  attribute human: bool = true
  alice
  bob
  ci { human = false }
}

input repo { commit: 1..2 = 1, author: Agent = alice }

artifact verdict(w: Task) { commit: 1..2, good: bool }

obligation type Task { signature commit: 1..2 }
obligations {
  review: Task starts ready
  tests:  Task starts ready
  deploy: Task starts blocked, required
}
relation needs(Task, Task) contributes support
needs = {review, tests} -> deploy
relation serves(Task, Task) contributes coverage
serves = deploy -> {review, tests}

certificate asked(w: Task) {
  issuer environment
  premises repo
  claims node(w), status(w) in {ready, blocked}
  starts active
}
certificate able(m: Agent, w: Task) {
  issuer environment
  premises repo
  claims assignment(w) is m
  valid when feasible(m, w)
}
certificate done(w: Task) {
  issuer assignee(w)
  premises verdict(w), done(p) for p in Task where needs(p, w)
  claims status(w) is closed, signature(w)
  valid when verdict(w).good and verdict(w).commit == repo.commit
}
certificate failed(w: Task) {
  issuer assignee(w)
  premises verdict(w)
  claims status(w) is rejected, failure(w)
  valid when not verdict(w).good
}
certificate doomed(w: Task, p: Task) {
  issuer monitor
  premises failed(p), needs(p, w)
  claims status(w) is rejected, failure(w)
}
certificate enabled(w: Task) {
  issuer monitor
  premises done(p) for p in Task where needs(p, w)
  claims status(w) is ready
}
certificate shipped(w: Task) {
  issuer monitor
  premises done(w)
  claims status(w) is accepted, coverage(w)
}

update assign(m: Agent, w: Task) operation assign by m {
  when unresolved(w) and assignee(w) == none
  requires feasible(m, w)
  set assignee(w) := m
  issue able(m, w)
}
update pass(m: Agent, w: Task) operation complete by m {
  when status(w) == ready and assignee(w) == m
  emit verdict(w) { commit = repo.commit, good = true }
  set status(w) := closed, commit(w) := repo.commit
  issue done(w)
  fault lazy: withhold done(w)
}
update refuse(m: Agent, w: Task) operation resolve by m {
  when status(w) == ready and assignee(w) == m
  emit verdict(w) { commit = repo.commit, good = false }
  set status(w) := rejected
  issue failed(w)
}
update doom(p: Task) operation resolve by monitor {
  when status(deploy) == blocked and p != deploy and valid(failed(p))
  set status(deploy) := rejected
  issue doomed(deploy, p)
}
update enable operation enable by monitor {
  when status(deploy) == blocked and valid(done(review)) and valid(done(tests))
  set status(deploy) := ready
  issue enabled(deploy)
}
update accept_it operation accept by monitor {
  when status(deploy) == closed and valid(done(deploy))
  set status(deploy) := accepted
  issue shipped(deploy)
  consume verdict(deploy), verdict(review), verdict(tests)
}
update push operation reopen by environment {
  when repo.commit == 1 and status(deploy) != accepted
  set repo.commit := 2
  for w in Task where w != deploy and status(w) == closed {
    set status(w) := ready, commit(w) := none
    revoke done(w)
    issue asked(w)
  }
  for w in {deploy} where status(w) in {ready, closed} {
    set status(w) := blocked, commit(w) := none
    revoke done(w), enabled(w)
    issue asked(w)
  }
}
fault self_review(m: Agent) operation assign by m {
  when assignee(review) == none and m == repo.author
  set assignee(review) := m
  issue able(m, review)
}

feasible(m: Agent, w: Task) = if w == tests then m == ci else if w == review then m.human and m != repo.author else m.human
value(m: Agent, w: Task) = 1

invariant fresh: status(deploy) == accepted implies commit(review) == commit(deploy) and commit(tests) == commit(deploy)
invariant four_eyes: status(review) == closed implies assignee(review) != repo.author
reachable ships: accept
run happy: assign(bob, review); pass(bob, review); assign(ci, tests); pass(ci, tests);
           enable; assign(alice, deploy); pass(alice, deploy); accept_it expect accept
check termination, settlement
"""
"""Neither Acc nor Rej is reached once a check has failed: nobody consumes the verdicts."""

EVERY = DEPLOY.replace(
    """certificate doomed(w: Task, p: Task) {
  issuer monitor
  premises failed(p), needs(p, w)
""",
    """certificate doomed(w: Task) {
  issuer monitor
  premises failed(p) for p in Task where needs(p, w)
""",
).replace("doomed(deploy, p)", "doomed(deploy)")
"""`for` makes both failures premises of what one of them should do."""

PAST = DEPLOY.replace("    revoke done(w)\n    issue asked(w)\n", "    revoke done(w)\n")
"""What a push makes ready again rests on evidence from before."""
