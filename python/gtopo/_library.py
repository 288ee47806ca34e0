"""libgtopo as ctypes sees it: where it is, its structs, its functions.

include/gtopo.h is the contract; the order of members and numbers here is the
one there, which tests/python compares.
"""
import ctypes
import os
import warnings

ROOM = 2048  # bytes for the words of an error

IN_PROGRESS = 1
ALL_RANKS = -1
LAUNCHED = 2
DETECT_ALL = 1

TYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "half",
         "bf16", "float", "double", "fp8_e4m3", "fp8_e5m2")
BYTES = (1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1)  # of an element of each type
OPS = ("sum", "prod", "min", "max", "avg")


class Error(Exception):
    """What libgtopo refused, or what failed: the words, and `code`, which is
    negative as in enum gtopo_result.  An argument that never got there, since
    it is of no type or value that could be handed on, is a TypeError or a
    ValueError, as everywhere in Python."""

    def __init__(self, code, words):
        super().__init__(words or "libgtopo says %d" % code)
        self.code = code


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("plan", ctypes.c_char_p),
                ("timeout_ms", ctypes.c_int64), ("flags", ctypes.c_uint),
                ("beside", ctypes.c_void_p), ("device", ctypes.c_int),
                ("max_blocks", ctypes.c_uint64),
                ("plan_text", ctypes.c_char_p)]


class SearchConfig(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("algo", ctypes.c_char_p),
                ("coll", ctypes.c_char_p), ("gpus", ctypes.c_char_p),
                ("rates", ctypes.c_char_p), ("links_out", ctypes.c_char_p),
                ("devices_out", ctypes.c_char_p),
                ("budget_ms", ctypes.c_int64), ("root", ctypes.c_int),
                ("nodes", ctypes.c_uint), ("max_channels", ctypes.c_uint),
                ("equal", ctypes.c_int), ("invariant", ctypes.c_int),
                ("trees_per_root", ctypes.c_uint),
                ("demand", ctypes.c_char_p)]


class VerdictStruct(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ranks", ctypes.c_int),
                ("channels", ctypes.c_int), ("busbw_gbs", ctypes.c_double),
                ("algbw_gbs", ctypes.c_double),
                ("bound_gbs", ctypes.c_double),
                ("any_bound_gbs", ctypes.c_double),
                ("optimal", ctypes.c_int)]


def _open():
    """The library that the loader finds, else one beside this module: of an
    installed tree that was moved, or of a build folder in the sources."""
    name = "libgtopo.so.0"
    try:
        return ctypes.CDLL(name)
    except OSError as missing:
        here = os.path.dirname(os.path.abspath(__file__))
        for folder in ("../../..", "../../../../lib64", "../../build"):
            path = os.path.normpath(os.path.join(here, folder, name))
            if os.path.exists(path):
                return ctypes.CDLL(path)
        raise ImportError("there is no %s: %s" % (name, missing)) from None


def _declare(lib):
    text, room = ctypes.c_char_p, ctypes.c_size_t
    pointer, number, count = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64
    texts = ctypes.POINTER(ctypes.c_void_p)
    lib.gtopo_version.restype = text
    lib.gtopo_free.argtypes = [pointer]
    lib.gtopo_free.restype = None
    lib.gtopo_detect.argtypes = [ctypes.c_uint, texts, text, room]
    lib.gtopo_search.argtypes = [text, ctypes.POINTER(SearchConfig), texts,
                                 text, room]
    lib.gtopo_verify.argtypes = [text, ctypes.POINTER(VerdictStruct), text,
                                 room]
    lib.gtopo_predict.argtypes = [text, text, ctypes.POINTER(count),
                                  ctypes.POINTER(ctypes.c_double), room, text,
                                  room]
    lib.gtopo_comm_create.argtypes = [ctypes.POINTER(Config), texts, text,
                                      room]
    lib.gtopo_comm_destroy.argtypes = [pointer]
    lib.gtopo_comm_destroy.restype = None
    lib.gtopo_comm_abort.argtypes = [pointer]
    lib.gtopo_comm_abort.restype = None
    lib.gtopo_comm_ranks.argtypes = [pointer]
    lib.gtopo_comm_local.argtypes = [pointer, ctypes.POINTER(number),
                                     ctypes.POINTER(number)]
    lib.gtopo_comm_local.restype = None
    lib.gtopo_comm_message.argtypes = [pointer, text, room]
    lib.gtopo_comm_message.restype = None
    lib.gtopo_wait.argtypes = [pointer, number, ctypes.c_int64]
    lib.gtopo_group_start.argtypes = [pointer, number]
    lib.gtopo_group_end.argtypes = [pointer, number]
    for name, more in (("allreduce", 1), ("reducescatter", 1),
                       ("allgather", 0), ("alltoall", 0), ("broadcast", 1),
                       ("gather", 1), ("scatter", 1), ("reduce", 2)):
        getattr(lib, "gtopo_" + name).argtypes = (
            [pointer, number, pointer, pointer, count, number] +
            [number] * more)
    for name in ("send", "recv"):
        getattr(lib, "gtopo_" + name).argtypes = [pointer, number, pointer,
                                                  count, number, number]
    return lib


lib = _declare(_open())


def number_of(name, names, what):
    """Which of the names is meant, whatever its capitals and dashes are: as
    gtopo understands words on its command line."""
    def plain(text):
        return text.lower().translate({ord(c): None for c in "-_ "})
    found = [i for i, each in enumerate(names) if plain(each) ==
             plain(str(name))]
    if not found:
        raise ValueError("%s '%s' is not one of %s" %
                         (what, name, ", ".join(names)))
    return found[0]


def encoded(text):
    """A text, bytes or None as a char pointer; a file is read by the caller."""
    return text.encode() if isinstance(text, str) else text


def text_with(sign, text, what):
    """The text of a plan or a topology as a char pointer: each of them has the
    sign, which the name of its file hardly has."""
    plain = text.decode(errors="replace") if isinstance(text, bytes) else text
    if isinstance(plain, os.PathLike):
        plain = os.fspath(plain)
    if plain and isinstance(plain, str) and sign not in plain:
        raise ValueError("'%.64s' is no %s: read the file, open(name).read()" %
                         (plain, what))
    return encoded(text)


def plan_text(plan):
    return text_with("{", plan, "plan, which is JSON")


def call(function, *args):
    """Calls a function that ends in words and their room.  What it warns of
    becomes a warning, what it refuses an Error."""
    words = ctypes.create_string_buffer(ROOM)
    code = function(*args, words, ROOM)
    said = words.value.decode(errors="replace")
    if code < 0:
        raise Error(code, said)
    for line in said.splitlines():
        warnings.warn(line, stacklevel=3)


def text_of(function, *args):
    """Calls a function that gives a text before its words, and takes that."""
    text = ctypes.c_void_p()
    words = args + (ctypes.byref(text),)
    call(function, *words)
    try:
        return ctypes.string_at(text).decode()
    finally:
        lib.gtopo_free(text)
