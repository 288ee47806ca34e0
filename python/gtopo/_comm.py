"""Communicators: the collectives of a plan between ranks on the host."""
import ctypes

from gtopo._library import (ALL_RANKS, BYTES, IN_PROGRESS, LAUNCHED, OPS, ROOM,
                            TYPES, Config, Error, call, lib, number_of,
                            plan_text)

# What the buffer protocol calls an element, by enum gtopo_type; "l" and "L" are
# 64 bits wide where gtopo runs.
_FORMATS = {"b": 0, "B": 1, "c": 1, "?": 1, "i": 2, "I": 3, "q": 4, "l": 4,
            "Q": 5, "L": 5, "e": 6, "f": 8, "d": 9}


# PyTorch and NumPy have these names for some of TYPES.
_OTHERS = {"float16": "half", "bfloat16": "bf16", "float32": "float",
           "float64": "double"}


def _type(dtype):
    """The number of a type that is called by its name, with or without
    "torch." before it, or is NumPy's."""
    name = str(getattr(dtype, "name", dtype)).split(".")[-1]
    return number_of(_OTHERS.get(name.lower(), name), TYPES, "dtype")


class _Buffer:
    """Contiguous memory of a rank, and what its elements are."""

    def __init__(self, owner, dtype, writes):
        view = memoryview(owner)
        if not view.c_contiguous:
            raise ValueError("a buffer has to be contiguous")
        if writes and view.readonly:
            raise ValueError("a result cannot go into a read-only buffer")
        if dtype is not None:
            self.type = _type(dtype)
        elif view.format.lstrip("@=<") in _FORMATS:
            self.type = _FORMATS[view.format.lstrip("@=<")]
        else:
            raise ValueError("elements of format '%s' need a dtype" %
                             view.format)
        if view.nbytes % BYTES[self.type]:
            raise ValueError("%d bytes are no whole number of %s" %
                             (view.nbytes, TYPES[self.type]))
        self.count = view.nbytes // BYTES[self.type]
        array = ctypes.c_char * view.nbytes
        raw = view.cast("B") if view.nbytes else bytearray()
        # Kept, so that the memory stays where it is while it is used.
        self.kept = (array.from_buffer_copy(raw) if view.readonly
                     else array.from_buffer(raw))
        self.address = ctypes.addressof(self.kept)


class Comm:
    """A communicator on a plan, with a thread for each rank on the host.

    Each method takes a list with a buffer for each rank of this process (all
    ranks, but with launched=True) and returns when the operation is done.
    Buffers are numpy arrays, array.array, bytearray with a dtype, or whatever
    else has contiguous memory; outputs left out are the inputs, in place.  A
    rank that has no input or output of an operation has None.
    """

    def __init__(self, plan, timeout_ms=30000, launched=False):
        """`plan` is the plan's text, as search() returns it."""
        self._comm = ctypes.c_void_p()
        config = Config(size=ctypes.sizeof(Config), timeout_ms=timeout_ms,
                        flags=LAUNCHED if launched else 0,
                        plan_text=plan_text(plan))
        call(lib.gtopo_comm_create, ctypes.byref(config),
             ctypes.byref(self._comm))
        first, local = ctypes.c_int(), ctypes.c_int()
        lib.gtopo_comm_local(self._comm, first, local)
        self.ranks = lib.gtopo_comm_ranks(self._comm)  # in the whole job
        self.local = range(first.value, first.value + local.value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def close(self):
        """Ends it, when what was called is done."""
        comm = self.__dict__.get("_comm")
        if comm:
            lib.gtopo_comm_destroy(comm)
            self._comm = ctypes.c_void_p()

    def abort(self):
        """Ends all operations, done or not; from any thread."""
        lib.gtopo_comm_abort(self._handle())

    def _handle(self):
        if not self._comm:
            raise Error(-2, "the communicator is closed")
        return self._comm

    def _check(self, code):
        if code < 0:
            words = ctypes.create_string_buffer(ROOM)
            lib.gtopo_comm_message(self._comm, words, len(words))
            raise Error(code, words.value.decode(errors="replace") or
                        "the call was refused: does the plan have this "
                        "collective, and are rank, root and sizes right?")

    def _buffers(self, lists, dtype):
        """All ranks' inputs and outputs; an output left out is the input."""
        inputs, outputs = lists
        outputs = inputs if outputs is None else outputs
        for each in (inputs, outputs):
            if len(each) != len(self.local):
                raise ValueError("%d buffers for %d ranks" %
                                 (len(each), len(self.local)))
        made = []
        for source, target in zip(inputs, outputs):
            out = None if target is None else _Buffer(target, dtype, True)
            if source is target or source is None:
                made.append((out if source is not None else None, out))
            else:
                made.append((_Buffer(source, dtype, False), out))
        return made

    def _run(self, name, lists, dtype, blocks, more):
        """Calls for all ranks here and waits.  `blocks` says how many blocks
        of a rank's count an input and an output have; None: there is none."""
        comm = self._handle()
        call_one = getattr(lib, "gtopo_" + name)
        made = self._buffers(lists, dtype)
        calls = [self._arguments(rank, pair, blocks(rank))
                 for rank, pair in zip(self.local, made)]
        if len({(count, kind) for _, _, count, kind in calls}) > 1:
            raise ValueError("ranks' buffers are not of one size and type")
        self._check(lib.gtopo_group_start(comm, ALL_RANKS))
        for rank, (source, target, count, kind) in zip(self.local, calls):
            call_one(comm, rank, source, target, count, kind, *more)
        self._check(lib.gtopo_group_end(comm, ALL_RANKS))
        self._wait(comm)

    def _wait(self, comm):
        """Waits in short turns, between which Python sees Ctrl-C.  Nothing
        uses the buffers any more when it is over, however it ends."""
        try:
            code = IN_PROGRESS
            while code == IN_PROGRESS:
                code = lib.gtopo_wait(comm, ALL_RANKS, 200)
        except BaseException:
            lib.gtopo_comm_abort(comm)
            self.close()
            raise
        self._check(code)

    def _arguments(self, rank, pair, blocks):
        counts, kinds = set(), set()
        for buffer, n, what in zip(pair, blocks, ("input", "output")):
            if n is None:
                continue
            if buffer is None:
                raise ValueError("rank %d has no %s" % (rank, what))
            # In place, the larger of both is given, and the rank's own block
            # of it is the smaller one.
            n = max(filter(None, blocks)) if pair[0] is pair[1] else n
            if buffer.count % n:
                raise ValueError("rank %d's %s of %d elements is no %d blocks" %
                                 (rank, what, buffer.count, n))
            counts.add(buffer.count // n)
            kinds.add(buffer.type)
        if len(counts) != 1 or len(kinds) != 1:
            raise ValueError("rank %d's input and output do not fit" % rank)
        count, kind = counts.pop(), kinds.pop()
        places = [buffer.address if buffer is not None and n is not None
                  else None for buffer, n in zip(pair, blocks)]
        if pair[0] is pair[1] and None not in blocks and \
                blocks[0] != blocks[1]:
            own = rank * count * BYTES[kind]
            places[0 if blocks[0] == 1 else 1] += own
        return places[0], places[1], count, kind

    def allreduce(self, inputs, outputs=None, op="sum", dtype=None):
        """Every rank gets the sum (or prod, min, max, avg) of all inputs."""
        self._run("allreduce", (inputs, outputs), dtype, lambda rank: (1, 1),
                  (number_of(op, OPS, "op"),))

    def allgather(self, inputs, outputs=None, dtype=None):
        """Every rank gets all ranks' blocks, in order of rank."""
        self._run("allgather", (inputs, outputs), dtype,
                  lambda rank: (1, self.ranks), ())

    def reducescatter(self, inputs, outputs=None, op="sum", dtype=None):
        """Every rank gets its own block of the sum of all inputs."""
        self._run("reducescatter", (inputs, outputs), dtype,
                  lambda rank: (self.ranks, 1), (number_of(op, OPS, "op"),))

    def alltoall(self, inputs, outputs=None, dtype=None):
        """Block r of each input goes to rank r."""
        self._run("alltoall", (inputs, outputs), dtype,
                  lambda rank: (self.ranks, self.ranks), ())

    def broadcast(self, inputs, outputs=None, root=0, dtype=None):
        """Every rank gets the root's input."""
        self._run("broadcast", (inputs, outputs), dtype,
                  lambda rank: (1 if rank == root else None, 1), (root,))

    def reduce(self, inputs, outputs=None, op="sum", root=0, dtype=None):
        """The root gets the sum of all inputs."""
        self._run("reduce", (inputs, outputs), dtype,
                  lambda rank: (1, 1 if rank == root else None),
                  (number_of(op, OPS, "op"), root))

    def gather(self, inputs, outputs=None, root=0, dtype=None):
        """The root gets all ranks' blocks, in order of rank."""
        self._run("gather", (inputs, outputs), dtype,
                  lambda rank: (1, self.ranks if rank == root else None),
                  (root,))

    def scatter(self, inputs, outputs=None, root=0, dtype=None):
        """Rank r gets block r of the root's input."""
        self._run("scatter", (inputs, outputs), dtype,
                  lambda rank: (self.ranks if rank == root else None, 1),
                  (root,))
