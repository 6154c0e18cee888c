"""A package in which every way to look better without working can be tried as a recovery."""

TRICKS = """language 1
package Tricks "1.0"

agents { ana  bo }
input    request
artifact note(w: Job)   { good: bool }
artifact trouble(w: Job)
artifact ruling(w: Job) { granted: bool }
obligation type Job {}
obligations {
  hard:  Job { weight = 3 } starts ready, required, assigned ana
  easy:  Job starts ready, required, assigned bo
  spare: Job latent
}
relation serves(Job, Job) contributes coverage
serves = hard -> spare

certificate asked(w: Job)   { issuer environment  premises request  claims node(w), status(w) is ready  starts active when present(w) }
certificate able(m: Agent, w: Job) {
  issuer environment
  premises request
  claims assignment(w) is m
  valid when feasible(m, w)
  starts active when assignee(w) == m
}
certificate done(w: Job)    { issuer assignee(w)  premises note(w)     claims status(w) is closed  valid when note(w).good }
certificate ok(w: Job)      { issuer monitor      premises done(w)     claims status(w) is accepted, coverage(w) }
certificate failed(w: Job)  { issuer assignee(w)  premises trouble(w)  claims status(w) is rejected, failure(w) }
certificate waived(w: Job)  { issuer monitor      premises ruling(w)   claims removal(w)  valid when ruling(w).granted }
certificate flopped(w: Job) { issuer any          premises failed(w)   claims removal(w) }
certificate split(w: Job)   { issuer any          premises request     claims node(w), status(w) is ready }

update finish(m: Agent, w: Job) operation complete by m {
  when  status(w) == ready and assignee(w) == m
  emit  note(w) { good = true }
  set   status(w) := closed
  issue done(w)
  fault withheld: withhold done(w)
  fault bad:      emit note(w) { good = false }
}
update fail(m: Agent, w: Job) operation resolve by m {
  when  status(w) == ready and assignee(w) == m
  emit  trouble(w)
  set   status(w) := rejected
  issue failed(w)
  fault silently: withhold failed(w)
}
update rule(w: Job) operation verify by environment { when not present(ruling(w)) and status(w) == ready emit ruling(w) { granted = true } }
update waive(w: Job) operation exclude by monitor {
  when  live(ruling(w)) and ruling(w).granted and marker(w) == none
  set   marker(w) := excluded
  issue waived(w)
}
update sign(w: Job) operation accept by monitor {
  when    status(w) == closed and valid(done(w))
  set     status(w) := accepted
  issue   ok(w)
  consume note(w)
}
update unassign(m: Agent, w: Job) operation unassign by m { when status(w) == ready and assignee(w) == m set assignee(w) := none }
update give(m: Agent, k: Agent, w: Job) operation reassign by m {
  when  status(w) == ready and assignee(w) == m and k != m
  set   assignee(w) := k
  issue able(k, w)
}
# Everything below hides the hard job in some way.
fault exclude(m: Agent)   operation exclude by m   { when marker(hard) == none set marker(hard) := excluded }
fault forget(m: Agent)    operation exclude by m   { when marker(hard) == none set marker(hard) := irrelevant }
fault double(m: Agent)    operation exclude by m   { when marker(hard) == none set marker(hard) := duplicated }
fault replace(m: Agent)   operation supersede by m {
  when marker(hard) == none and not present(spare)
  create spare
  set marker(hard) := superseded
}
fault rename(m: Agent)    operation supersede by m {
  when  marker(hard) == none and not present(spare)
  create spare
  set   marker(hard) := superseded
  issue split(spare)
}
fault unruled(m: Agent)   operation exclude by m   { when marker(hard) == none set marker(hard) := excluded issue waived(hard) }
fault denied(m: Agent)    operation exclude by m   {
  when  marker(hard) == none
  emit  ruling(hard) { granted = false }
  set   marker(hard) := excluded
  issue waived(hard)
}
fault flop(m: Agent)      operation exclude by m   {
  when  status(hard) == ready and assignee(hard) == m
  emit  trouble(hard)
  set   status(hard) := rejected, marker(hard) := excluded
  issue failed(hard), flopped(hard)
}
fault reject_it(m: Agent) operation reject by m    { when status(hard) == ready set status(hard) := rejected }
fault accept_it(m: Agent) operation accept by m    { when status(hard) == ready set status(hard) := accepted }
fault accept_ok(m: Agent) operation accept by m    { when status(hard) == ready set status(hard) := accepted issue ok(hard) }
fault block_it(m: Agent)  operation block by m     { when status(hard) == ready set status(hard) := blocked }
fault void_it(m: Agent)   operation resolve by m   { when status(hard) == ready set status(hard) := invalid }
fault unask(m: Agent)     operation revoke by m    { when active(asked(hard)) revoke asked(hard) }
fault meddle(m: Agent)    operation assign by m    { when status(easy) == ready set assignee(easy) := bo issue able(bo, easy) }
fault boast(m: Agent)     operation report by m    { when status(hard) == ready report accept }

define capability(m: Agent) = if m == ana then 0.9 else 0.4
feasible(m: Agent, w: Job) = true
value(m: Agent, w: Job) = capability(m)

audit {
  tolerance 0.05  threshold 0.5  patience 9  budget 1
  progress  some w in Job: status(w) changes to closed
  repairs   { assignment: monitor  work: assignee, proposer }
}
"""
