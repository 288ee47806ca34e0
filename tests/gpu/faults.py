"""What two ranks say of a fault, on NCCL and on gtopo: faults.sh calls it.

    faults.py GTOPO NCCL FACE PLAN2 PLAN4 LOGS

GTOPO is the program, NCCL and FACE are the two libnccl.so.2, PLAN2 and PLAN4
rings of so many ranks, LOGS a folder for what all processes print.  The tables
go to standard output.  FAULTS are those to try (all), FAULT_SECONDS is how long
words are waited for (15), RUNS how often each job goes on (3), and with
FAULT_DEVICE=host the program's ranks are on CPUs.  Status 1 when gtopo did not
say what it should have said, or NCCL did not start.
"""

import ctypes
import os
import queue
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = float(os.environ.get("FAULT_SECONDS", "15"))
RUNS = int(os.environ.get("RUNS", "3"))
DEVICE = os.environ.get("FAULT_DEVICE", "cuda")
START_S, STARTING_S, END_S = 45, 10, 10
# What `gtopo run` does: the first size is over soon, all of them not before the
# fault is noticed.
SIZES = {"cuda": ("1M", "1G", "2000"), "host": ("4K", "16M", "2000")}
TIMEOUT = "10s"
# The rows that each fault makes, with words that gtopo's library and then the
# program must have; None: it may say nothing.
FAULTS = {
    "kill": (("kill -9 of rank 1", "process 1.*; exit", "process 1"),),
    "stop": (("SIGSTOP of rank 1", None, "(process|rank) 1"),),
    "exit": (("rank 1 exits with 0, and has ended nothing",
              "process 1.*; exit", "interrupted"),),
    "count": (("rank 1 calls another count, once", "operation.*; exit",
               "options"),),
    "never": (("rank 1 calls nothing more", None, "rank 1"),
              ("then rank 0 calls ncclCommAbort", "ncclSuccess.*; exit",
               "interrupted"))}
GOING = f"""
Four ranks share the GPUs, with `--soak --keep-going --timeout {TIMEOUT}` and
operations of up to 1 MiB, every element checked. Milliseconds until a job is
right again, median and largest.

| 4 ranks | Went on | From the kill | From its notice |
|---|---|---|---|"""
NOTHING = f"nothing within {LIMIT_S:.0f} s"


def now():
    return time.monotonic_ns()


def lasted(since, until):
    ms = (until - since) / 1e6
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def clean(words, most=300):
    """Without who and where processes are, and fit for a table."""
    words = re.sub(r" \(([^)]*, )?pid \d+\)", "", words).replace("|", "/")
    return words if len(words) <= most else words[:most - 3] + "..."


class Process:
    """A process whose lines come into a queue, with their times."""

    def __init__(self, log, args, reads=None, **how):
        with open(log, "wb") as out:
            how = {"stdout": out, "stderr": out, **how}
            self.process = subprocess.Popen(args, **how)
        self.log, self.lines = log, queue.Queue()
        threading.Thread(target=self.read, daemon=True,
                         args=(reads or self.process.stdout,)).start()

    def read(self, lines):
        """Until the other side is closed; a terminal's gives an error then."""
        try:
            for line in lines:
                self.lines.put((now(), line.rstrip("\n")))
        except OSError:
            pass
        self.lines.put((now(), None))

    def next(self, until):
        """The next line by then: its time and text, None behind the last."""
        try:
            return self.lines.get(timeout=max(0.001, (until - now()) / 1e9))
        except queue.Empty:
            return None

    def wait(self, until):
        """Its status by then, or None."""
        try:
            return self.process.wait(max(0.001, (until - now()) / 1e9))
        except subprocess.TimeoutExpired:
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def said(self):
        """The lines of its log."""
        with open(self.log, errors="replace") as log:
            return [re.sub(r"^gtopo run: ", "", line.strip()) for line in log
                    if line.strip()]


class NotStarted(Exception):
    """A job that did not come to its fault."""


# Two ranks on a library.

class Rank(Process):
    def __init__(self, library, rank, fault, log):
        reads, writes = os.pipe()
        super().__init__(
            log, [sys.executable, os.path.join(HERE, "fault_rank.py"), library,
                  str(rank), fault, str(writes)],
            os.fdopen(reads), stdin=subprocess.PIPE, pass_fds=(writes,),
            env={**os.environ, "NCCL_DEBUG": "WARN"})
        os.close(writes)

    def send(self, line):
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def expect(self, words, until):
        """Time and text of the next line with one of these words."""
        while (got := self.next(until)) and got[1] is not None:
            word, when, text = got[1].split("\t")
            if word in words:
                return word, int(when), text
        return None

    def must(self, word, limit_s):
        got = self.expect((word,), now() + limit_s * 10**9)
        if not got:
            raise NotStarted((self.said() or ["nothing was said"])[-1])
        return got


def cell(words, after, end):
    return f"`{clean(words)}`, {after}; {end}"


def how_ended(rank, begin):
    """What became of rank 0, which has said something."""
    ended = rank.expect(("ended",), now() + END_S * 10**9)
    if not ended and rank.wait(now() + 10**9) is None:
        return "ncclCommAbort does not return"
    status = rank.wait(now() + END_S * 10**9)
    if status is None:
        return "does not end"
    also = f" ({ended[2]})" if ended and ended[2] else ""
    return f"exit {status} after {lasted(begin, now())}{also}"


def listen(rank, begin, limit_s=LIMIT_S):
    """Rank 0's words by the limit, as a cell; None: it said nothing."""
    until = begin + int(limit_s * 1e9)
    got = rank.expect(("said", "wrong"), until)
    wrong = ""
    if got and got[0] == "wrong":
        wrong = f"{got[2]} elements are wrong, and no error"
        when = got[1]
        got = rank.expect(("said",), until)
        if got:
            wrong += "; then "
    if got:
        return cell(wrong + got[2], lasted(begin, got[1]),
                    how_ended(rank, begin))
    if now() < until:  # it has closed its pipe, as it does when it ends
        when = now()
        status = rank.wait(when + END_S * 10**9)
        return cell(wrong or "nothing", lasted(begin, when), f"exit {status}")
    return cell(wrong, lasted(begin, when), "goes on") if wrong else None


def strike(ranks, fault):
    begin = now()
    if fault == "kill":
        ranks[1].process.kill()
    elif fault == "stop":
        ranks[1].process.send_signal(signal.SIGSTOP)
    else:
        ranks[1].send("fault")
    return begin


def nothing(rank):
    """What there is to say of a rank that said nothing, but may have logged."""
    for line in reversed(rank.said()):
        if logged := re.search(r"(?:NCCL WARN|warning:|error:) (.*)", line):
            return f"{NOTHING}, but in the log `{clean(logged.group(1))}`"
    return NOTHING


def listen_to_abort(ranks):
    begin = now()
    ranks[0].send("abort")
    said = listen(ranks[0], begin, END_S)
    heard = ranks[1].expect(("hears",), now() + 5 * 10**9)
    if said and heard:
        said += f"; rank 1 hears `{clean(heard[2])}`"
    return said or f"it does not return within {END_S} s"


def library_cells(library, name, fault, logs):
    """A cell for each of the fault's rows."""
    ranks = [Rank(library, r, fault, f"{logs}/{name}.{fault}.{r}.log")
             for r in (0, 1)]
    try:
        ranks[1].send(ranks[0].must("id", START_S)[2])
        for rank in ranks:
            rank.must("ready", START_S)
        begin = strike(ranks, fault)
        said = listen(ranks[0], begin)
        cells = [said or nothing(ranks[0])]
        if fault == "never":
            cells.append("it has ended before" if said
                         else listen_to_abort(ranks))
        return cells
    except NotStarted as why:
        return [f"did not start: {clean(str(why))}"] * len(FAULTS[fault])
    finally:
        for rank in ranks:
            rank.kill()


# Processes of `gtopo run`, which a launcher would start like this.

class Job:
    def __init__(self, name, logs, procs, options, other=None, tty=False):
        gtopo, plan = options[0], options[1:]
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            port = door.getsockname()[1]
        self.begin, self.processes, self.terminal = now(), [], None
        for rank in range(procs):
            env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(procs),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                   "GTOPO_SECRET": "no secret, a test",
                   "CUDA_DEVICE_MAX_CONNECTIONS": "32"}
            how = {"env": env, "stdout": subprocess.PIPE, "text": True}
            if tty and rank == 0:
                self.open_terminal(how)
            args = [gtopo, "run", "--device", DEVICE, "--timeout", TIMEOUT,
                    *(["--map", "share"] if DEVICE == "cuda" else []),
                    *plan, *(other if other and rank == 1 else [])]
            self.processes.append(
                Process(f"{logs}/{name}.{rank}.log", args, **how))
            if "stderr" in how:
                os.close(how["stderr"])

    def open_terminal(self, how):
        """Where there is none, process 0 does not tell when it works."""
        try:
            self.terminal, how["stderr"] = os.openpty()
        except OSError:
            pass

    def await_row(self):
        """Until process 0 has measured the first size."""
        until = now() + START_S * 10**9
        while (got := self.processes[0].next(until)) and got[1] is not None:
            if re.match(r"\s*\d", got[1]):
                return
        self.processes[0].wait(now() + 10**9)
        raise NotStarted("; ".join(self.processes[0].said()[-1:]))

    def await_work(self):
        """Until process 0 tells its terminal how many operations there were."""
        if self.terminal is None:
            time.sleep(8)
            return
        text, until = b"", now() + START_S * 10**9
        while b"operations in" not in text and now() < until:
            try:
                text += os.read(self.terminal, 4096)
            except OSError:
                break
        if b"operations in" not in text:
            raise NotStarted(text.decode(errors="replace").strip())
        threading.Thread(target=self.drain, daemon=True).start()

    def drain(self):
        try:
            while os.read(self.terminal, 4096):
                pass
        except OSError:
            pass

    def words(self):
        """Each thing that was said, once."""
        return list(dict.fromkeys(
            line for p in self.processes for line in p.said()
            if "is for" not in line))

    def cell(self, begin, more_s=0):
        """What process 0 said and how it ended, since then."""
        until = begin + int((LIMIT_S + more_s) * 1e9)
        status = self.processes[0].wait(until)
        after = lasted(begin, now())
        if status is None:
            return NOTHING
        self.processes[1].wait(now() + 10**9)
        words = "; ".join(self.words()[:2]) or "nothing"
        return f"`{clean(words)}`, exit {status} after {after}"

    def kill(self):
        for process in self.processes:
            process.kill()
        if self.terminal is not None:
            os.close(self.terminal)


def run_options(gtopo, plan):
    first, last, times = SIZES[DEVICE]
    return [gtopo, "--plan", plan, "--coll", "allreduce", "-b", first, "-e",
            last, "-n", times]


def run_hit(options, fault, logs):
    """Something happens to process 1 while all work."""
    job = Job(f"run.{fault}", logs, 2, options)
    try:
        job.await_row()
        time.sleep(0.2)
        begin = now()
        job.processes[1].process.send_signal(
            {"kill": signal.SIGKILL, "stop": signal.SIGSTOP,
             "exit": signal.SIGTERM}[fault])
        return job.cell(begin)
    finally:
        job.kill()


def run_begun(options, fault, logs, other=None, interrupt_s=None):
    """The fault is there from the start, or an interrupt some time later."""
    job = Job(f"run.{fault}", logs, 2, options, other)
    try:
        if not interrupt_s:
            return job.cell(job.begin, STARTING_S)
        time.sleep(interrupt_s)
        begin = now()
        job.processes[0].process.send_signal(signal.SIGINT)
        return job.cell(begin)
    finally:
        job.kill()


def run_cells(gtopo, plan, fault, logs):
    """The same as library_cells(), of a job of the program's."""
    options = run_options(gtopo, plan)
    stall = [*options, "--inject", "stall:1"]
    try:
        if fault == "count":
            return ["from the start: " +
                    run_begun(options, fault, logs, ["-e", "2M"])]
        if fault == "never":
            return ["from the start: " + run_begun(stall, fault, logs),
                    "SIGINT of process 0: " +
                    run_begun(stall, "interrupt", logs, None, 5)]
        return [("SIGTERM of process 1: " if fault == "exit" else "") +
                run_hit(options, fault, logs)]
    except NotStarted as why:
        return [f"did not start: {clean(str(why))}"] * len(FAULTS[fault])


# A job that goes on without one of its processes.

def right_again(job, victim, begin):
    """Seconds from the kill and from its notice to the next right result."""
    until = begin + 30 * 10**9
    while now() < until:
        for rank, process in enumerate(job.processes):
            if rank == victim:
                continue
            got = process.next(now() + 5 * 10**6)
            if got and got[1] is None:
                process.lines.put(got)
                if all(p.wait(now()) is not None for p in job.processes):
                    return None
            again = re.search(r"right again ([0-9.]+) s", got[1] or "") \
                if got else None
            if again:
                return (got[0] - begin) / 1e9, float(again.group(1))
    return None


def all_right(job, victim):
    """Whether nothing was wrong until an interrupt ended it."""
    time.sleep(0.3)
    left = [p for r, p in enumerate(job.processes) if r != victim]
    for process in left:
        process.process.send_signal(signal.SIGINT)
    for process in left:
        while (got := process.next(now() + END_S * 10**9)) and \
                got[1] is not None:
            if "elements wrong" in got[1]:
                return ", 0 elements wrong" in got[1]
    return False


def going_once(gtopo, plan, procs, victim, logs, number):
    job = Job(f"going.{procs}.{victim}.{number}", logs, procs,
              [gtopo, "--plan", plan, "-e",
               "1M" if DEVICE == "cuda" else "64K", "--soak", "60s",
               "--keep-going"], tty=True)
    try:
        job.await_work()
        time.sleep(0.3 + 0.1 * number)
        begin = now()
        job.processes[victim].process.kill()
        times = right_again(job, victim, begin)
        return times if times and all_right(job, victim) else None
    except NotStarted as why:
        print(f"did not start: {why}", file=sys.stderr)
        return None
    finally:
        job.kill()


def going_row(gtopo, plan, procs, victim, logs):
    """The row, and whether the job went on each time."""
    times = [t for n in range(RUNS)
             if (t := going_once(gtopo, plan, procs, victim, logs, n))]
    row = f"| {procs} processes of {4 // procs}, kill -9 of process {victim} " \
          f"| {len(times)} of {RUNS} |"
    for column in zip(*times):
        row += f" {1e3 * statistics.median_low(column):.0f}, " \
               f"{1e3 * max(column):.0f} |"
    print(row if times else row + " - | - |", flush=True)
    return len(times) == RUNS


# The tables.

def version(library):
    number = ctypes.c_int()
    ctypes.CDLL(library).ncclGetVersion(ctypes.byref(number))
    number = number.value
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def missing(row, nccl, face, run):
    """What gtopo should have said and did not, or what there is no NCCL for."""
    name, face_words, run_words = row
    lacks = [f"{name}, NCCL: {nccl}"] if "did not start" in nccl else []
    if face_words and not re.search(face_words, face):
        lacks.append(f"{name}, libnccl.so.2: {face}")
    if not re.search(rf"{run_words}.*, exit [23] after", run):
        lacks.append(f"{name}, gtopo run: {run}")
    return lacks


def fault_table(gtopo, nccl, face, plan, logs):
    print(f"| Fault | NCCL {version(nccl)} | gtopo's libnccl.so.2 "
          "| gtopo run |")
    print("|---|---|---|---|", flush=True)
    lacks = []
    for fault in os.environ.get("FAULTS", " ".join(FAULTS)).split():
        columns = (FAULTS[fault], library_cells(nccl, "nccl", fault, logs),
                   library_cells(face, "gtopo", fault, logs),
                   run_cells(gtopo, plan, fault, logs))
        for row, *cells in zip(*columns):
            print(f"| {row[0]} | " + " | ".join(cells) + " |", flush=True)
            lacks += missing(row, *cells)
    return lacks


def main():
    gtopo, nccl, face, plan2, plan4, logs = sys.argv[1:]
    lacks = fault_table(gtopo, nccl, face, plan2, logs)
    print(GOING, flush=True)
    for procs, victim in ((4, 2), (2, 1)):
        if not going_row(gtopo, plan4, procs, victim, logs):
            lacks.append(f"{procs} processes did not go on each time")
    for lack in lacks:
        print(f"not as it should be: {lack}", file=sys.stderr)
    sys.exit(1 if lacks else 0)


if __name__ == "__main__":
    main()
