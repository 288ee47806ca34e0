"""The Python module on libgtopo: what it says, refuses and computes.

Prints TAP.  GTOPO_SRC are the sources; the library is the one that the loader
finds.
"""
import array
import itertools
import os
import pathlib
import re
import subprocess
import sys
import unittest
import warnings

SRC = os.environ.get("GTOPO_SRC", ".")
sys.path.insert(0, os.path.join(SRC, "python"))
sys.dont_write_bytecode = True

import gtopo  # noqa: E402
from gtopo import _comm, _library  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


def machine(name):
    with open(os.path.join(SRC, "share/xml", name + ".xml")) as file:
        return file.read()


def header():
    with open(os.path.join(SRC, "include/gtopo.h")) as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


def members(struct):
    body = re.search(r"struct %s \{(.*?)\};" % struct, header(), re.S).group(1)
    return re.findall(r"(\w+)(?=[,;])", body)


class Contract(unittest.TestCase):
    """Structs and numbers are those of the header."""

    def test_structs(self):
        for name, struct in (("gtopo_config", _library.Config),
                             ("gtopo_search_config", _library.SearchConfig),
                             ("gtopo_verdict", _library.VerdictStruct)):
            self.assertEqual([field[0] for field in struct._fields_],
                             members(name))

    def test_numbers(self):
        text = header()
        types = re.search(r"enum gtopo_type \{(.*?)\}", text, re.S).group(1)
        self.assertEqual(["GTOPO_" + name.upper() for name in _library.TYPES],
                         re.findall(r"\w+", types))
        ops = re.search(r"enum gtopo_op \{(.*?)\}", text, re.S).group(1)
        self.assertEqual(["GTOPO_" + name.upper() for name in _library.OPS],
                         re.findall(r"\w+", ops)[:len(_library.OPS)])
        self.assertIn("GTOPO_LAUNCHED = %d," % _library.LAUNCHED, text)
        self.assertIn("GTOPO_DETECT_ALL = %d " % _library.DETECT_ALL, text)
        self.assertIn("GTOPO_ALL_RANKS = %d," % _library.ALL_RANKS, text)

    def test_functions(self):
        for name in re.findall(r"\b(gtopo_[a-z]+)\(", header()):
            if name in ("gtopo_detect", "gtopo_search", "gtopo_verify",
                        "gtopo_predict", "gtopo_wait"):
                self.assertIsNotNone(getattr(_library.lib, name).argtypes)


class Texts(unittest.TestCase):
    def test_version(self):
        self.assertRegex(gtopo.__version__, r"^\d+\.\d+\.\d+$")

    def test_detect(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertIn("<cpu ", gtopo.detect())
            self.assertIn("<system ", gtopo.detect(all=True))

    def test_search_verify(self):
        plan = gtopo.search(machine("dgx-1v"), algo="ring")
        verdict = gtopo.verify(plan)
        self.assertEqual(verdict[:3], (8, 4, 120))
        self.assertEqual(verdict.bound_gbs, 120)
        self.assertIs(verdict.optimal, True)
        four = gtopo.search(machine("dgx-1v"), gpus="0-3", budget_ms=60000)
        self.assertEqual(gtopo.verify(four).ranks, 4)

    def test_words(self):
        """What the command line understands, and what Python has for it."""
        rings = {gtopo.search(machine("dgx-1v"), algo="ring", coll=coll,
                              gpus=gpus)
                 for coll, gpus in (("all_reduce", "0-3"),
                                    ("AllReduce", [0, 1, 2, 3]),
                                    ("all-reduce", range(4)),
                                    (None, ("GPU0", "gpu1-3")))}
        self.assertEqual(len(rings), 1)
        one = gtopo.search(machine("dgx-1v"), gpus=5)
        self.assertEqual(gtopo.verify(one).ranks, 1)
        fewer = gtopo.search(machine("dgx-1v"), algo="ring", gpus=[0, 1, 2, 3],
                             links_out=["GPU0-GPU3", "GPU1-GPU2"])
        self.assertLess(gtopo.verify(fewer).busbw_gbs,
                        gtopo.verify(rings.pop()).busbw_gbs)
        plan = gtopo.search(machine("dgx-1v"), devices_out=["GPU6", "GPU7"])
        self.assertEqual(gtopo.verify(plan).ranks, 6)

    def test_later_options(self):
        plan = gtopo.search(machine("dgx-1v"), invariant=True)
        self.assertIn('"invariant": true', plan)
        gtopo.search(machine("dgx-1v"), algo="forest", coll="allgather",
                     trees_per_root=1)
        rows = [[0, 3, 1], [2, 0, 9], [4, 4, 0]]
        plan = gtopo.search(machine("dgx-1v"), gpus=range(3), demand=rows)
        self.assertIn('"demand"', plan)
        self.assertEqual(plan, gtopo.search(machine("dgx-1v"), gpus="0-2",
                                            demand="0 3 1\n2 0 9\n4 4 0"))
        with self.assertRaisesRegex(gtopo.Error, "demand"):
            gtopo.search(machine("dgx-1v"), demand=[[1]])

    def test_some_have_access(self):
        """Where two GPUs are apart, nothing that runs has access."""
        text = machine("workstation-4gpu")
        for gpu, row in ((0, "x rwa --- rwa"), (2, "--- rwa x rwa")):
            text = text.replace('<gpu dev="%d"' % gpu,
                                '<gpu gt_p2p="%s" dev="%d"' % (row, gpu))
        for gpus, apart in (("0-3", True), ("0,1,3", False)):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                plan = gtopo.search(text, algo="ring", gpus=gpus)
            self.assertEqual(["no peer access" in str(w.message) for w in said],
                             [True] * apart)
            self.assertEqual('"shm"' in plan, apart)
            self.assertEqual('"peer"' in plan, not apart)

    def test_predict(self):
        plan = gtopo.search(machine("dgx-h100"), algo="ring")
        small, large = gtopo.predict(plan, [1024, 1 << 30])
        self.assertTrue(0 < small < large)
        gather = gtopo.predict(plan, iter([1 << 30]), coll="allgather")
        self.assertLess(gather[0], large)
        self.assertEqual(gtopo.predict(plan, []), [])

    def test_refused(self):
        with self.assertRaisesRegex(gtopo.Error, "^topology:1:") as caught:
            gtopo.search("<system")
        self.assertEqual(caught.exception.code, -2)
        with self.assertRaisesRegex(ValueError, "'dgx-1v.xml' is no topology"):
            gtopo.search("dgx-1v.xml")
        with self.assertRaisesRegex(gtopo.Error, "algo 'rings'"):
            gtopo.search(machine("dgx-1v"), algo="rings")
        with self.assertRaisesRegex(TypeError, "no option 'gpu'"):
            gtopo.search(machine("dgx-1v"), gpu="0")
        with self.assertRaisesRegex(gtopo.Error, "^plan:1:"):
            gtopo.verify("{no JSON")
        plan = gtopo.search(machine("dgx-1v"), algo="ring")
        with self.assertRaisesRegex(gtopo.Error, "plan.*channels"):
            gtopo.verify(plan.replace('"1/3"', '"1/4"', 1))
        with self.assertRaisesRegex(gtopo.Error, "'sum'"):
            gtopo.predict(plan, [1], coll="sum")


    def test_names_of_files(self):
        for name in "plan.json", b"plan.json", pathlib.Path("plan.json"):
            for take in (gtopo.Comm, gtopo.verify,
                         lambda plan: gtopo.predict(plan, [1])):
                with self.assertRaisesRegex(ValueError,
                                            "^'plan.json' is no plan, which "
                                            "is JSON: read the file, open"):
                    take(name)
        for name in b"dgx-1v.xml", pathlib.Path("dgx-1v.xml"):
            with self.assertRaisesRegex(ValueError, "is no topology, which"):
                gtopo.search(name)


class Run(unittest.TestCase):
    N = 8

    def setUp(self):
        self.comm = gtopo.Comm(gtopo.search(machine("dgx-1v")))

    def tearDown(self):
        self.comm.close()

    def rows(self, blocks=1, kind="q", size=10):
        """Rank r's elements are r * 1000 + i."""
        return [array.array(kind, [r * 1000 + i for i in range(blocks * size)])
                for r in range(self.N)]

    def test_allreduce(self):
        for kind in "bBiIqQfd":
            data = [array.array(kind, [r + i for i in range(9)])
                    for r in range(self.N)]
            self.comm.allreduce(data)
            for mine in data:
                self.assertEqual(list(mine), [28 + 8 * i for i in range(9)])

    def test_words(self):
        class Kind:
            """torch.float32 has no name but its text."""

            def __str__(self):
                return "torch.float32"

        for dtype in ("float32", "Float", Kind()):
            data = [bytearray(array.array("f", [r])) for r in range(self.N)]
            self.comm.allreduce(data, op="Sum", dtype=dtype)
            self.assertEqual(array.array("f", bytes(data[3]))[0], 28)

    def test_out_of_place(self):
        data, result = self.rows(), self.rows()
        self.comm.allreduce([bytes(mine) for mine in data], result, op="max",
                            dtype="int64")
        for mine in result:
            self.assertEqual(list(mine), [7000 + i for i in range(10)])
        self.assertEqual(data, self.rows())

    def test_allgather(self):
        result = self.rows(self.N)
        self.comm.allgather(self.rows(), result)
        want = list(itertools.chain(*self.rows()))
        self.assertTrue(all(list(mine) == want for mine in result))
        result = self.rows(self.N)
        for r, mine in enumerate(result):
            mine[10 * r:10 * r + 10] = self.rows()[r]
        self.comm.allgather(result)
        self.assertTrue(all(list(mine) == want for mine in result))

    def test_reducescatter(self):
        result, inplace = self.rows(), self.rows(self.N)
        self.comm.reducescatter(self.rows(self.N), result)
        self.comm.reducescatter(inplace)
        for r in range(self.N):
            want = [28000 + 8 * (10 * r + i) for i in range(10)]
            self.assertEqual(list(result[r]), want)
            self.assertEqual(list(inplace[r][10 * r:10 * r + 10]), want)

    def test_rooted(self):
        plan = gtopo.search(machine("dgx-1v"), coll="broadcast", root=2)
        with gtopo.Comm(plan) as comm:
            data = self.rows()
            inputs = [data[2] if r == 2 else None for r in range(self.N)]
            comm.broadcast(inputs, data, root=2)
            self.assertTrue(all(mine == self.rows()[2] for mine in data))
        plan = gtopo.search(machine("dgx-1v"), coll="reduce", root=1)
        with gtopo.Comm(plan) as comm:
            result = [array.array("q", [0] * 10) if r == 1 else None
                      for r in range(self.N)]
            comm.reduce(self.rows(), result, root=1)
            self.assertEqual(list(result[1]),
                             [28000 + 8 * i for i in range(10)])

    def test_blocks(self):
        plan = gtopo.search(machine("dgx-1v"), coll="alltoall")
        with gtopo.Comm(plan) as comm:
            result = self.rows(self.N)
            comm.alltoall(self.rows(self.N), result)
            for r in range(self.N):
                self.assertEqual(list(result[r]),
                                 [s * 1000 + 10 * r + i
                                  for s in range(self.N) for i in range(10)])
        for name in ("gather", "scatter"):
            plan = gtopo.search(machine("dgx-1v"), coll=name, root=3)
            whole = list(itertools.chain(*self.rows()))
            root = [array.array("q", whole if name == "scatter"
                                else [0] * 80) if r == 3 else None
                    for r in range(self.N)]
            with gtopo.Comm(plan) as comm:
                if name == "gather":
                    comm.gather(self.rows(), root, root=3)
                    self.assertEqual(list(root[3]), whole)
                else:
                    result = [array.array("q", [0] * 10)
                              for _ in range(self.N)]
                    comm.scatter(root, result, root=3)
                    self.assertEqual(result, self.rows())

    def test_numpy(self):
        if numpy is None:
            self.skipTest("no numpy")
        data = [numpy.full((3, 5), r, "float16") for r in range(self.N)]
        self.comm.allreduce(data, op="avg")
        self.assertTrue(all((mine == 3.5).all() for mine in data))
        with self.assertRaisesRegex(ValueError, "contiguous"):
            self.comm.allreduce([mine[:, :2] for mine in data])

    def test_refused(self):
        refused = ((ValueError, "op 'xor'", self.rows(), {"op": "xor"}),
                   (ValueError, "7 buffers for 8", self.rows()[:7], {}),
                   (ValueError, "read-only", [b"abcd"] * 8, {}),
                   (ValueError, "dtype 'int9'", self.rows(),
                    {"dtype": "int9"}),
                   (ValueError, "no whole number", [bytearray(7)] * 8,
                    {"dtype": "float"}),
                   (ValueError, "one size", self.rows()[:7] +
                    [array.array("q", [1])], {}))
        for kind, words, data, options in refused:
            with self.assertRaisesRegex(kind, words):
                self.comm.allreduce(data, **options)
        with self.assertRaisesRegex(gtopo.Error, "root '8' is no rank"):
            self.comm.broadcast(self.rows(), root=8)
        # A call that was refused left nothing behind.
        data = self.rows()
        self.comm.allreduce(data)
        self.assertEqual(data[0][0], 28000)

    def test_not_served(self):
        """What a plan does not do is refused in words, and no more."""
        plan = gtopo.search(machine("dgx-1v"), algo="forest", coll="broadcast",
                            root=2)
        with gtopo.Comm(plan) as comm:
            data = self.rows(self.N)
            with self.assertRaisesRegex(gtopo.Error, "nothing for 'alltoall'"):
                comm.alltoall(data)
            with self.assertRaisesRegex(gtopo.Error, "its root is rank 2"):
                comm.broadcast(data, root=3)
            comm.broadcast(data, root=2)
            self.assertEqual(data[5], data[2])

    def test_closed(self):
        self.comm.close()
        self.comm.close()
        with self.assertRaisesRegex(gtopo.Error, "closed"):
            self.comm.allreduce(self.rows())
        with self.assertRaisesRegex(gtopo.Error, "plan"):
            gtopo.Comm("{}")

    def test_abort(self):
        self.comm.abort()
        with self.assertRaisesRegex(gtopo.Error, "abort") as caught:
            self.comm.allreduce(self.rows())
        self.assertEqual(caught.exception.code, -4)

    def test_processes(self):
        """Two processes of a job have half of the ranks each."""
        env = dict(os.environ, WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=str(21000 + os.getpid() % 9000),
                   GTOPO_SECRET="not so secret: a test")
        jobs = [subprocess.Popen([sys.executable, __file__, "job"],
                                 env=dict(env, RANK=str(rank)),
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
                for rank in range(2)]
        for rank, job in enumerate(jobs):
            out = job.communicate(timeout=120)[0]
            self.assertEqual((job.returncode, out),
                             (0, "ranks %d to %d of 8\n" %
                              (4 * rank, 4 * rank + 3)))


def job():
    plan = gtopo.search(machine("dgx-1v"), algo="ring")
    with gtopo.Comm(plan, launched=True) as comm:
        data = [array.array("i", [r + 1] * 1000) for r in comm.local]
        try:
            comm.alltoall(data)
        except gtopo.Error as why:
            assert "nothing for 'alltoall'" in str(why), why
        else:
            raise AssertionError("rings do no alltoall")
        comm.allreduce(data)
        assert all(set(mine) == {36} for mine in data)
        print("ranks %d to %d of %d" %
              (comm.local[0], comm.local[-1], comm.ranks))


class Tap(unittest.TestResult):
    def line(self, test, bad="", more=""):
        number = self.testsRun
        print("%sok %d - %s%s" % (bad, number, test.id().split(".", 1)[1],
                                  more), flush=True)

    def addSuccess(self, test):
        self.line(test)

    def addSkip(self, test, reason):
        self.line(test, more=" # skip " + reason)

    def _bad(self, test, err):
        text = self._exc_info_to_string(err, test)
        print(re.sub("^", "# ", text, flags=re.M))
        self.line(test, "not ")

    addFailure = addError = _bad


if __name__ == "__main__":
    if sys.argv[1:] == ["job"]:
        job()
    else:
        tests = unittest.defaultTestLoader.loadTestsFromModule(
            sys.modules["__main__"])
        print("1..%d" % tests.countTestCases(), flush=True)
        tests.run(Tap())
