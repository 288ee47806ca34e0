"""gtopo: plan collectives for a GPU server's real topology, and run them.

    import gtopo
    plan = gtopo.search(gtopo.detect())
    print(gtopo.verify(plan))
    with gtopo.Comm(plan) as comm:
        comm.allreduce(buffers)     # one for each rank, in place

Topologies (gtopo-topology(5)) and plans (gtopo-plan(5)) are str.  Rates are in
GB/s, times in microseconds.  What libgtopo refuses, or what fails, raises
gtopo.Error, whose words name the place; an argument that it never sees, such as
a file's name in place of its text, a dtype that there is not or seven buffers for
eight ranks, raises ValueError.  What is to be warned of is a warning.
"""
import collections
import ctypes

from gtopo._comm import Comm
from gtopo._library import (DETECT_ALL, Error, SearchConfig, VerdictStruct,
                            call, encoded, lib, plan_text, text_of, text_with)

__all__ = ["Comm", "Error", "Verdict", "detect", "predict", "search", "verify"]
__version__ = lib.gtopo_version().decode()

Verdict = collections.namedtuple(
    "Verdict", [name for name, _ in VerdictStruct._fields_[1:]])
Verdict.__doc__ = """A plan that is right, as struct gtopo_verdict has it."""


def detect(all=False):
    """This machine's topology, as XML; all: also virtual interfaces."""
    return text_of(lib.gtopo_detect, DETECT_ALL if all else 0)


def _option(name, value):
    """An option as C takes it: of several devices or links a list, "0,1"; of a
    demand's rows, which may be NumPy's, a table."""
    if value is None or isinstance(value, (str, bytes)):
        return encoded(value)
    if name == "demand":
        return encoded("\n".join(",".join(str(int(each)) for each in row)
                                 for row in value))
    if name in ("gpus", "links_out", "devices_out"):
        values = value if hasattr(value, "__iter__") else [value]
        return encoded(",".join(str(each) for each in values))
    return value


def search(topology, **options):
    """The best plan for a topology or a cluster, as JSON.

    Options are members of struct gtopo_search_config: algo, coll, gpus, rates,
    links_out, devices_out, budget_ms, root, nodes, max_channels, equal,
    invariant, trees_per_root, demand.  Words are understood as on the command
    line: coll="all_reduce", gpus="GPU0,2-3".  What is a list there may be one
    here, gpus=[0, 2, 3], and demand a matrix of bytes, demand[from][to].
    """
    topology = text_with("<", topology, "topology, which is XML")
    known = [name for name, _ in SearchConfig._fields_[1:]]
    for name in options:
        if name not in known:
            raise TypeError("search() has no option '%s', but %s" %
                            (name, ", ".join(known)))
    config = SearchConfig(size=ctypes.sizeof(SearchConfig),
                          **{name: _option(name, value)
                             for name, value in options.items()})
    return text_of(lib.gtopo_search, topology, ctypes.byref(config))


def verify(plan):
    """Checks the plan, its proof and its programs; a Verdict, or an Error."""
    verdict = VerdictStruct(size=ctypes.sizeof(VerdictStruct))
    call(lib.gtopo_verify, plan_text(plan), ctypes.byref(verdict))
    members = {name: getattr(verdict, name) for name in Verdict._fields}
    members["optimal"] = bool(verdict.optimal)
    return Verdict(**members)


def predict(plan, sizes, coll=None):
    """Microseconds that a collective of the plan (None: its own) takes for
    each of the sizes, in bytes of the larger of input and output."""
    sizes = list(sizes)
    bytes_ = (ctypes.c_uint64 * len(sizes))(*sizes)
    times = (ctypes.c_double * len(sizes))()
    call(lib.gtopo_predict, plan_text(plan), encoded(coll), bytes_, times,
         len(sizes))
    return list(times)
