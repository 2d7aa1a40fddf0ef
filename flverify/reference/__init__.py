"""Independent reference loops: each module transcribes one algorithm box.

Every module has one function ``run`` that plays the box client by client with
plain Python lists.  Those with ``start`` and ``play`` can also be played one round at
a time, on a state that is a dict of server vectors and of lists with one vector, or one
number, per client, and with one client standing for all its equals
(``_vectors.Population``).
Nothing here is shared with the rest of the package, so that an agreement between the
two is evidence and not a tautology.  All arithmetic is done in the number type of the
data: ``fractions.Fraction`` in, ``fractions.Fraction`` out.
"""

from ._vectors import Population

__all__ = ["Population"]
