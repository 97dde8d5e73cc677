"""`make torture`: real clients, real faults, and a comparison of what was acknowledged with what is there.

`site` has the processes, `faults` what is done to them, `load` the clients, `journal` what they were told, `inside`
what the databases say afterwards, `model` the comparison, `run` the order of things. A test tool with nothing of
Django but in `inside`, which is a process of its own.
"""
