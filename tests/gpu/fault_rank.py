"""One of two ranks that all-reduce without end, on any libnccl.so.2.

    fault_rank.py LIBRARY RANK FAULT PIPE

faults.py starts it.  The library is called through ctypes and CUDA by its
driver, so there is no framework whose watchdog could speak: what is told is
what the library lets a program know.  GTOPO_LIBCUDA names another driver.

Lines on PIPE are WORD, CLOCK_MONOTONIC in ns and text, between tabs: `id`,
`ready` (it has worked for a while), `wrong` (a result that was handed out as
right), `said` (the first error, or how an abort went), `ended` (what the
communicator's end brought), `hears` (rank 1, of rank 0's abort).  Lines on
standard input: an id; then `fault`, which rank 1 obeys, and `abort`.
"""

import ctypes
import os
import sys
import threading
import time

COUNT = 1 << 18
ONE, TWO = 0x3f800000, 0x40000000  # floats
FLOAT, SUM = 7, 0
NOT_READY = 600
WARM = 100
LOOK_S, FREE_S = 0.0002, 2
SUCCESS, IN_PROGRESS = 0, 7
NAMES = ("ncclSuccess", "ncclUnhandledCudaError", "ncclSystemError",
         "ncclInternalError", "ncclInvalidArgument", "ncclInvalidUsage",
         "ncclRemoteError", "ncclInProgress", "ncclTimeout")


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


class Gpu:
    """A GPU with an input, an output and a stream."""

    def __init__(self, number):
        name = os.environ.get("GTOPO_LIBCUDA", "libcuda.so.1")
        # Global, since what stands for CUDA is looked for by name.
        self.cuda = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        device = ctypes.c_int()
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), number)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context),
                  device)
        self.enter()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        # Rank 1 reads and writes twice as much when it calls another count.
        self.input, self.output = self.memory(), self.memory()
        self.host = ctypes.create_string_buffer(4 * COUNT)
        self.right = TWO.to_bytes(4, "little") * COUNT
        self.set(self.input, ONE)

    def call(self, name, *args):
        status = getattr(self.cuda, name)(*args)
        if status:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def enter(self):
        self.call("cuCtxSetCurrent", self.context)

    def memory(self):
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(8 * COUNT))
        return at

    def set(self, at, value):
        self.call("cuMemsetD32Async", at, ctypes.c_uint(value),
                  ctypes.c_size_t(2 * COUNT), self.stream)

    def state(self):
        return self.cuda.cuStreamQuery(self.stream)

    def trouble(self):
        """What is wrong with the stream behind an abort, in words."""
        until = time.monotonic() + FREE_S
        while (state := self.state()) == NOT_READY:
            if time.monotonic() > until:
                return "the stream is not free"
            time.sleep(LOOK_S)
        return f"the stream has CUDA error {state}" if state else ""

    def wrong(self):
        """How many elements of the result are not what they should be."""
        self.call("cuMemcpyDtoH_v2", self.host, self.output,
                  ctypes.c_size_t(4 * COUNT))
        if self.host.raw == self.right:
            return 0
        two = TWO.to_bytes(4, "little")
        raw = self.host.raw
        return sum(raw[i:i + 4] != two for i in range(0, len(raw), 4))


def library_open(path):
    lib, pointer = ctypes.CDLL(path), ctypes.c_void_p
    lib.ncclGetUniqueId.argtypes = [ctypes.POINTER(Id)]
    lib.ncclCommInitRank.argtypes = [ctypes.POINTER(pointer), ctypes.c_int, Id,
                                     ctypes.c_int]
    lib.ncclAllReduce.argtypes = [pointer, pointer, ctypes.c_size_t,
                                  ctypes.c_int, ctypes.c_int, pointer, pointer]
    lib.ncclCommGetAsyncError.argtypes = [pointer, ctypes.POINTER(ctypes.c_int)]
    lib.ncclCommAbort.argtypes = [pointer]
    lib.ncclGetLastError.argtypes = [pointer]
    lib.ncclGetLastError.restype = ctypes.c_char_p
    return lib


class Rank:
    def __init__(self, path, rank, fault, pipe):
        self.rank, self.fault, self.pipe = rank, fault, pipe
        self.gpu, self.lib = Gpu(rank), library_open(path)
        self.comm = ctypes.c_void_p()
        self.lock = threading.Lock()
        self.cue, self.aborted = threading.Event(), threading.Event()
        self.aborting = False
        self.abort_status = None

    def tell(self, word, text=""):
        line = f"{word}\t{time.monotonic_ns()}\t{text}\n"
        os.write(self.pipe, line.encode())

    def name(self, status):
        name = NAMES[status] if 0 <= status < len(NAMES) else str(status)
        if status == SUCCESS:
            return name
        why = self.lib.ncclGetLastError(None) or b""
        why = " ".join(why.decode(errors="replace").split())
        return f"{name}: {why}" if why else name

    def meet(self, lines):
        unique = Id()
        if self.rank == 0:
            self.must("ncclGetUniqueId", ctypes.byref(unique))
            self.tell("id", bytes(unique).hex())
        else:
            unique = Id.from_buffer_copy(bytes.fromhex(next(lines)))
        self.must("ncclCommInitRank", ctypes.byref(self.comm), 2, unique,
                  self.rank)
        threading.Thread(target=self.obey, args=(lines,), daemon=True).start()

    def must(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status:
            raise RuntimeError(f"{name}: {self.name(status)}")

    def obey(self, lines):
        for line in lines:
            if line == "fault":
                self.cue.set()
            elif line == "abort":
                self.abort()
        os._exit(1)  # faults.py is gone

    def abort(self):
        self.gpu.enter()
        with self.lock:  # nobody asks a communicator that ends
            self.aborting = True
        self.abort_status = self.lib.ncclCommAbort(self.comm)
        self.aborted.set()

    def async_error(self):
        state = ctypes.c_int(SUCCESS)
        with self.lock:
            if self.aborting:
                return SUCCESS
            status = self.lib.ncclCommGetAsyncError(self.comm,
                                                    ctypes.byref(state))
        return status or (SUCCESS if state.value == IN_PROGRESS
                          else state.value)

    def turn(self, count):
        """One operation; the words of the first error."""
        gpu = self.gpu
        gpu.set(gpu.output, 0)
        status = self.lib.ncclAllReduce(gpu.input.value, gpu.output.value,
                                        count, FLOAT, SUM, self.comm,
                                        gpu.stream)
        if status:
            return f"ncclAllReduce: {self.name(status)}"
        while True:
            status = self.async_error()
            if status:
                return self.name(status)
            state = gpu.state()
            if state not in (0, NOT_READY):
                return f"CUDA error {state}"
            if state == 0:
                return None
            time.sleep(LOOK_S)

    def work(self):
        wrong = done = 0
        while True:
            words = self.turn(COUNT)
            if self.aborting:
                self.after_abort()
            if words:
                self.end(words)
            bad = self.gpu.wrong()
            if bad and not wrong:
                self.tell("wrong", f"{bad} of {COUNT}")
            wrong += bad
            done += 1
            if done == WARM:
                self.tell("ready")
            if self.rank == 1 and self.cue.is_set():
                self.cue.clear()
                self.fail()

    def fail(self):
        if self.fault == "exit":
            sys.exit(0)
        if self.fault == "count":
            self.turn(2 * COUNT)
        if self.fault == "never":
            while not (status := self.async_error()):
                time.sleep(LOOK_S)
            self.tell("hears", self.name(status))
            while True:
                time.sleep(1)

    def after_abort(self):
        """Another thread's abort has freed the stream, or broken it."""
        self.aborted.wait()
        self.tell("said", f"ncclCommAbort: {NAMES[self.abort_status]}")
        self.tell("ended", self.gpu.trouble())
        sys.exit(1)

    def end(self, words):
        """What a program does that has heard of an error."""
        self.tell("said", words)
        status = self.lib.ncclCommAbort(self.comm)
        self.tell("ended", "; ".join(filter(None, (
            f"ncclCommAbort: {NAMES[status]}" if status else "",
            self.gpu.trouble()))))
        sys.exit(1)


def input_lines():
    """Lines of standard input, with no lock that could be held at the end."""
    text = b""
    while more := os.read(0, 4096):
        text += more
        while b"\n" in text:
            line, text = text.split(b"\n", 1)
            yield line.decode()


def main():
    path, rank, fault, pipe = sys.argv[1:]
    me = Rank(path, int(rank), fault, int(pipe))
    me.meet(input_lines())
    try:
        me.work()
    except RuntimeError as why:
        print(why, file=sys.stderr)
        me.end(str(why))


if __name__ == "__main__":
    main()
