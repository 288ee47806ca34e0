#!/usr/bin/env python3
"""Presses TAB in an interactive shell, on a terminal of its own.

press.py SHELL SCRIPT LINE...: SHELL (bash, zsh or fish) reads the completion
SCRIPT; each LINE is typed, then TAB, and what the line has become is printed.
"""
import os
import pty
import re
import select
import sys
import time

SECONDS = 30  # on a busy machine shells take long to start


class Terminal:
    def __init__(self, argv):
        self.said = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", PS1="", HISTFILE="")
            os.execvp(argv[0], argv)

    def wait(self, pattern):
        """Read until the pattern is there; returns what matched."""
        end = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.said)):
            if not select.select([self.fd], [], [], end - time.monotonic())[0]:
                sys.exit(f"no {pattern} in {self.said!r}")
            self.said += os.read(self.fd, 4096)
        self.said = self.said[found.end():]
        return found

    def type(self, text):
        os.write(self.fd, text.encode())

    def settle(self, seconds):
        """Read until nothing has come for so long."""
        while select.select([self.fd], [], [], seconds)[0]:
            self.said += os.read(self.fd, 4096)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], ". {script}",
             "bind 'set bell-style none'"),
    "zsh": (["zsh", "-f", "-i"],
            "fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D",
            "unsetopt beep list_ambiguous auto_menu"),
    "fish": (["fish", "--no-config", "-i"], "source {script}", "true"),
}


def main():
    shell, script, *lines = sys.argv[1:]
    argv, load, quiet = SHELLS[shell]
    terminal = Terminal(argv)
    load = load.format(script=script, folder=os.path.dirname(script))
    # The marks are typed in two halves, so that their echo does not match.
    terminal.type(f"{load}; {quiet}; printf '%s%s\\n' rea dy\n")
    terminal.wait(rb"ready")
    for line in lines:
        terminal.settle(0.2)
        terminal.type(line + "\t")
        # A shell reads on only when it has completed the line.  Whatever the
        # line is now, it is printed instead of run.
        terminal.type("\x01printf '<%s>' \x05 ; printf '%s%s\\n' do ne\n")
        said = terminal.wait(rb"((?:<[^<>]*>)+)done").group(1)
        print(" ".join(re.findall(r"<([^<>]*)>", said.decode())))
    os.close(terminal.fd)


main()
