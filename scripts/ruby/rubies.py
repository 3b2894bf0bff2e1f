# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rubies by name or path, and what the programs beside this file print under them.

A Ruby is a name that scripts/rubies knows, or the path of a ruby executable. The environment is passed on:
RUBYLIB and LD_LIBRARY_PATH for one that is not installed, RUNS and THREADS for the programs.
"""

import json
import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
GVLSCOPE = os.environ.get("GVLSCOPE", os.path.join(REPO, ".build", "gvlscope"))


class Failed(Exception):
    pass


def output(command, **env):
    """Standard output of a command; its words go to ours. Failed, unless it succeeds."""
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                             env={**os.environ, **env})
    except OSError as e:
        raise Failed(f"{command[0]}: {e.strerror}") from e
    if run.returncode != 0:
        raise Failed(f"status {run.returncode} of: {' '.join(command)}")
    return run.stdout


def known():
    """The names that scripts/rubies has here."""
    listed = output([os.path.join(REPO, "scripts", "rubies"), "list"])
    return [line.split("\t")[0] for line in listed.splitlines()]


class Ruby:
    def __init__(self, name):
        self.command = [name] if "/" in name else [os.path.join(REPO, "scripts", "rubies"), "run", name]
        self.version = output(self.command + ["--disable-gems", "-e", "print RUBY_VERSION"])
        self.name = name
        self.minor = tuple(int(part) for part in self.version.split(".")[:2])

    def has_list_of_all(self):
        """One list of all waiters, not one for each IO."""
        return self.minor < (4, 0)

    def copies_held(self):
        """Every copy with the lock held; later Rubies release it for 1 MiB and more."""
        return self.minor < (3, 4)

    def program(self, name, *args):
        """The command that runs a program beside this file."""
        return self.command + ["--disable-gems", "-W0", os.path.join(HERE, f"{name}.rb"), *map(str, args)]

    def measure(self, name, *args, **env):
        """What that program printed: a dictionary a line."""
        return parse(output(self.program(name, *args), **env))


def parse(text):
    return [json.loads(line) for line in text.splitlines()]
