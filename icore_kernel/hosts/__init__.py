"""Host policies for the audit loop: they schedule, propose and revise, and never commit (icore_kernel/audit/host.py, README.md here).

The loop imports none of them. `named.host_named` makes one from the text of `--host`.
"""
