"""How fast Assent is on this machine: `make bench`. Nothing is asserted; slow machines pass, too.

`run` measures the machine itself, then starts `leg` once for each engine present, in a data directory of its
own that is thrown away. Each module named for a verb or page holds the cases of that, and nothing else.
"""
