"""Sinks that remember, partition or raise."""

import threading


class Listener:
    """Remembers what it is told."""

    def __init__(self):
        self.commits = []
        self.ends = 0

    def committed(self, commit):
        self.commits.append(commit)

    def ended(self):
        self.ends += 1

    @property
    def seqs(self):
        """The numbers of the entries that it was told."""
        return [each.seq for commit in self.commits for each in commit.entries]

    def heard(self, kind):
        """The entries of a kind, each with its commit."""
        return [(each, commit) for commit in self.commits for each in commit.entries if isinstance(each.entry, kind)]


class Blocked(Listener):
    """Waits until it is let go."""

    def __init__(self):
        super().__init__()
        self.entered = threading.Event()
        self.go = threading.Event()

    def committed(self, commit):
        self.entered.set()
        self.go.wait()
        super().committed(commit)


class Raising(Listener):
    """Hears everything, and raises every time."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def committed(self, commit):
        super().committed(commit)
        raise self.error


def gone(name):
    """Whether the threads of that name end."""
    for each in threading.enumerate():
        if each.name == name:
            each.join(10)
    return all(each.name != name for each in threading.enumerate())
