"""One-machine scheduling with release times: a whole problem in a package of its own.

Jobs have a release time, a duration and a tail, which is what has to follow once they are done. One
machine does them one after another. J. Carlier, "The one-machine sequencing problem", EJOR 1982.
"""
