"""How long an idle OpenMP thread spins before it sleeps: a setting that is read when torch is loaded."""

from collections.abc import Mapping

_SPIN_COUNT = "GOMP_SPINCOUNT"
_SPINS = "700"
"""A few microseconds.

GNU OpenMP spins for milliseconds by default, which is fastest on an idle machine. When another program takes a core,
the threads that still run burn their time slices at every barrier, waiting for the one that does not: training was
seen to fall to a thirteenth of its speed beside one busy process.
"""


def openmp_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """List the variables to add; none if the user chose how threads wait."""
    return {} if environment.keys() & {_SPIN_COUNT, "OMP_WAIT_POLICY"} else {_SPIN_COUNT: _SPINS}
