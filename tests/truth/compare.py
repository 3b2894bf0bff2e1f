#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""compare.py LOG DUMP SWITCHES

Compares what Ruby says of its lock (LOG, written by truth_ext.c) with what gvlscope recorded (DUMP,
printed by tests/tools/trace_dump), event by event. Prints a summary; exit status 1 and one line for
each disagreement, 2 if nothing but the precision of edges was wrong: on a busy machine that may be
its fault.

What Ruby's events mean, in the words of the lock (thread_pthread.c, 3.3 and 3.4):

  READY      thread_sched_to_ready_common(), just before either the lock word is set to the thread,
             if nobody owned it, or the thread enters the ready queue
  SUSPENDED  just before the lock word is set to the next in the queue, or to nobody; the mutex
             around the queue may still have to be taken. Where Ruby finds an interrupt after it
             (thread_sched_to_waiting_until_wakeup), the lock is kept: no READY follows
  RESUMED    the thread runs, after it has been the owner for as long as its hand-off took

So a hold begins at the last one's SUSPENDED or at its own READY, whichever is later, and ends at its
own SUSPENDED; its wait is from its READY to the begin of the hold, if somebody owned the lock then.

A task that is taken off its CPU between telling Ruby's event and writing the word, or in the probe
after it, shifts an edge. That is not the tool's error where the scheduler says so: SWITCHES, printed
by tests/tools/switches, has the time and the tid of each switch. Such edges and what they belong to
are left out, and counted.

A probe's trap comes before its clock is read. It costs 1 us on bare metal and may cost 20 in a
virtual machine; the trace has what it cost where it was recorded.
"""

import bisect
import collections
import json
import sys

LEAST_NS = 20_000       # holds and waits at least so long must be found
EDGE_NS = 50_000        # edges agree within it and some hits of a probe, at p99
PROBES = 3              # the queue's, the owner's, and one that turns out to be of another list
TOTAL = 0.01            # totals agree within it
TOTAL_SHARE = 0.002     # ... or within this share of the time: next to nothing has no precise share
TOTAL_HIT = 0.1         # ... or this share of a probe's hit for each edge: it is that far from Ruby's event
MARGIN_NS = 20_000_000  # what is left out at both ends of the trace: first hits fault pages in
BEFORE_NS = 2_000_000_000    # a wait may have begun so long before tracing did
RACES = 0.001           # a switch at the very moment of the write may go unseen
EXCUSED = 0.2           # a larger share of edges with an excuse proves nothing

IMPRECISE = "imprecise:"

Event = collections.namedtuple("Event", "ts kind thread tid")


class Edge(collections.namedtuple("Edge", "what got want tid excuse", defaults=[False])):
    @property
    def error(self):
        return self.got - self.want


class Hold:
    """One stay of the lock word at one thread, as told by Ruby or by the tool."""

    def __init__(self, thread, start, ready):
        self.thread, self.start, self.ready = thread, start, ready
        self.end = self.runs = None
        self.tid = self.teller = None   # its task; the task that told READY
        self.released = None            # when the last one told SUSPENDED

    @property
    def length(self):
        return self.end - self.start

    @property
    def wait(self):
        return self.start - self.ready if self.ready is not None else 0

    def __str__(self):
        return f"thread {self.thread:#x} from {self.start} for {self.length / 1e3:.1f} us"


def read_log(name, from_ns, to_ns):
    events = []
    with open(name) as f:
        for line in f:
            ts, kind, thread, tid = line.split("\t")
            ts = int(ts)
            if from_ns <= ts <= to_ns:
                events.append(Event(ts, kind, int(thread), int(tid)))
    events.sort(key=lambda e: e.ts)
    return events


def without_kept(events):
    """Leaves out each SUSPENDED after which the thread kept the lock."""
    last, keep = {}, [True] * len(events)
    for i, e in enumerate(events):
        if e.kind == "SUSPENDED":
            if e.thread in last:
                keep[last[e.thread]] = False
            last[e.thread] = i
        elif e.kind in ("READY", "EXITED", "STARTED"):
            last.pop(e.thread, None)
    return [e for e, k in zip(events, keep) if k]


class Switches:
    """When tasks were taken off their CPU."""

    def __init__(self, name):
        self.times = collections.defaultdict(list)
        with open(name) as f:
            for line in f:
                ts, tid = line.split()
                self.times[int(tid)].append(int(ts))
        for times in self.times.values():
            times.sort()

    def between(self, tid, a, b):
        times = self.times.get(tid, [])
        i = bisect.bisect_left(times, min(a, b) - 1000)
        return i < len(times) and times[i] <= max(a, b)


def truth_holds(events):
    holds, ready, current, released = [], {}, None, None
    for e in without_kept(events):
        if e.kind == "READY":
            ready[e.thread] = e
        elif e.kind == "RESUMED":
            if current:
                raise SystemExit(f"Ruby's log: two threads run at {e.ts}: events are missing")
            came = ready.pop(e.thread, None)
            if came and released:
                is_free = came.ts > released
                current = Hold(e.thread, max(came.ts, released), None if is_free else came.ts)
                current.runs, current.tid = e.ts, e.tid
                current.teller, current.released = came.tid, released
        elif e.kind == "SUSPENDED":
            released = e.ts
            if current:
                current.end = e.ts
                holds.append(current)
            current = None
    return holds


class Trace:
    def __init__(self, name):
        self.holds, self.free_ns = [], 0
        self.from_ns = self.to_ns = None
        self.problems = []
        self.totals = None
        with open(name) as f:
            for line in f:
                self.take(line.rstrip("\n").split("\t"))
        if self.totals is None:
            self.problems.append("the trace is cut")

    current, seq = None, None

    def take(self, row):
        kind = row[0]
        if kind in ("facts", "cut"):
            return
        if kind == "totals":
            self.totals = json.loads(row[1])
            return
        ts, flags, _target, lock, thread, tid, seq = map(int, row[1:8])
        if lock != 0:       # other Ractors
            return
        if kind in ("OWNER", "QUEUE", "STATE"):
            if kind != "STATE" and self.seq is not None and seq != self.seq + 1:
                self.problems.append(f"at {ts}: sequence {self.seq} is followed by {seq}")
            self.seq = seq
        getattr(self, "on_" + kind.lower(), lambda *_: None)(ts, thread, tid, flags)

    @property
    def probe_ns(self):
        return self.totals["cost"]["uprobe_ns"] if self.totals else 0

    def begin(self, ts, thread, flags):
        self.current = Hold(thread, ts, self.queued.pop(thread, None)) if thread else None
        if thread and not flags & 1:
            self.current.runs = ts

    def finish(self, ts):
        if self.current:
            self.current.end = ts
            self.holds.append(self.current)
        self.current = None

    def on_state(self, ts, thread, tid, flags):
        self.queued = {}
        self.owner = thread
        self.owner_tid = tid
        self.from_ns = self.from_ns or ts
        self.begin(ts, thread, flags)

    def on_state_queued(self, ts, thread, _tid, _flags):
        self.queued[thread] = ts

    def on_owner(self, ts, thread, _tid, flags):
        if thread == self.owner:    # written before the state was read, told after it
            return
        self.finish(ts)
        self.owner = thread
        self.begin(ts, thread, flags)

    def on_queue(self, ts, thread, _tid, _flags):
        self.queued[thread] = ts

    def on_on_cpu(self, ts, _thread, _tid, _flags):
        if self.current and self.current.runs is None:
            self.current.runs = ts

    def on_state_end(self, ts, _thread, _tid, _flags):
        self.finish(ts)
        self.to_ns = ts


def align(truth, got):
    """Pairs of holds, in order. Where they differ, it goes on where both go on alike."""
    pairs, missing, invented = [], [], []
    i = j = 0
    while i < len(truth) and j < len(got):
        if truth[i].thread == got[j].thread and overlap(truth[i], got[j]):
            pairs.append((truth[i], got[j]))
            i, j = i + 1, j + 1
            continue
        skip = next(((a, n - a) for n in range(1, 200) for a in range(n + 1)
                     if alike(truth[i + a:i + a + 3], got[j + n - a:j + n - a + 3])), None)
        a, b = skip or (len(truth) - i, len(got) - j)
        missing += truth[i:i + a]
        invented += got[j:j + b]
        i, j = i + a, j + b
    return pairs, missing + truth[i:], invented + got[j:]


def overlap(a, b):
    return a.start < b.end + 1_000_000 and b.start < a.end + 1_000_000


def alike(a, b):
    return len(a) == len(b) > 0 and all(x.thread == y.thread and overlap(x, y)
                                        for x, y in zip(a, b))


def edges_of(t, g, switches):
    """The edges of one hold. An end is somebody else's begin, unless that came to a free lock."""
    edges = [Edge("end of hold", g.end, t.end, t.tid)]
    if t.ready is None:
        edges.append(Edge("begin of hold", g.start, t.start, t.teller))
    elif g.ready is not None and t.wait >= LEAST_NS:
        edges.append(Edge("begin of wait", g.ready, t.ready, t.teller))
    return [e._replace(excuse=switches.between(e.tid, e.got, e.want)) for e in edges]


def percentile(values, share):
    """Of few values the largest one proves nothing: it is left out."""
    values = sorted(values)
    return values[max(0, min(len(values) - 2, int(len(values) * share)))] if values else 0


def check_waits(pairs):
    for t, g in pairs:
        if t.wait >= LEAST_NS and g.ready is None:
            yield f"wait not found: {t.wait / 1e3:.1f} us from {t.ready}, {t}"
        # After SUSPENDED the lock is still held for a moment: one can queue in it.
        if t.ready is None and g.wait >= LEAST_NS and t.start - t.released > EDGE_NS:
            yield f"wait invented: {g.wait / 1e3:.1f} us from {g.ready}, {g}"


def check_edges(edges, limit_ns):
    bare = [e for e in edges if not e.excuse]
    far = sorted((e for e in bare if abs(e.error) > limit_ns), key=lambda e: -abs(e.error))
    p50, p99 = (percentile([abs(e.error) for e in bare], share) for share in (0.5, 0.99))
    excused = [e for e in edges if e.excuse and abs(e.error) > limit_ns]
    print(f"edges: {len(edges)}, off by {p50 / 1e3:.1f} us at p50, {p99 / 1e3:.1f} us at p99 (at most"
          f" {limit_ns / 1e3:.0f}); {len(far)} more than that, {len(excused)} by a switch")
    if p99 > limit_ns:
        yield f"{IMPRECISE} edges: off by {p99 / 1e3:.1f} us at p99, want {limit_ns / 1e3:.0f}; the worst:"
        for e in far[:5]:
            yield f"{IMPRECISE} {e.what} at {e.want}: {e.error / 1e3:+.1f} us, task {e.tid}"
    if len(edges) >= 100 and len(excused) > EXCUSED * len(edges):
        yield f"{IMPRECISE} edges: {len(excused)} of {len(edges)} far off by switches: that proves nothing"


def check_runs(pairs):
    """A thread that says it runs is on a CPU: the hand-off has ended by then."""
    late = [g.runs - t.runs for t, g in pairs if g.runs is not None]
    p99 = percentile(late, 0.99)
    if p99 > EDGE_NS:
        yield f"hand-offs: end {p99 / 1e3:.1f} us after the thread ran (p99)"
    never = sum(g.runs is None and t.end - t.runs > LEAST_NS for t, g in pairs)
    if never > RACES * len(pairs) + 1:
        yield f"hand-offs: {never} of {len(pairs)} holds: no end of the hand-off, though they ran"


def check_total(name, got, want, least_ns):
    limit = max(TOTAL * want, least_ns)
    print(f"{name}: {got / 1e6:.3f} ms, Ruby says {want / 1e6:.3f} ms")
    if abs(got - want) > limit:
        yield (f"{IMPRECISE} {name}: got {got / 1e6:.3f} ms, want {want / 1e6:.3f} ms"
               f" within {limit / 1e6:.3f}")


def problems(log, dump, switches):
    trace = Trace(dump)
    yield from trace.problems[:5]
    if trace.from_ns is None or trace.to_ns is None:
        yield "the trace has no begin or no end of what is seen"
        return
    from_ns, to_ns = trace.from_ns + MARGIN_NS, trace.to_ns - MARGIN_NS
    events = read_log(log, trace.from_ns - BEFORE_NS, trace.to_ns + BEFORE_NS)
    truth = [h for h in truth_holds(events) if from_ns <= h.start and h.end <= to_ns]
    for hold in truth:      # a wait that was under way when tracing began is seen from there on
        if hold.ready is not None:
            hold.ready = max(hold.ready, trace.from_ns)
    got = [h for h in trace.holds if from_ns <= h.start and h.end <= to_ns]
    print(f"holds: {len(got)}, Ruby says {len(truth)}, in {(to_ns - from_ns) / 1e6:.0f} ms")
    if len(truth) < 10:
        yield f"Ruby's log: {len(truth)} holds while it was traced: nothing to compare"
        return
    pairs, missing, invented = align(truth, got)
    # A hold at either end may be inside the window for one side only.
    rim = (from_ns + 1_000_000, to_ns - 1_000_000)
    missing = [h for h in missing if h.start > rim[0] and h.end < rim[1] and h.length >= LEAST_NS]
    invented = [h for h in invented if h.start > rim[0] and h.end < rim[1]]
    for name, holds in (("not found", missing), ("invented", invented)):
        if holds:
            yield f"holds {name}: {len(holds)}, the first: {holds[0]}"
    edges = [edges_of(t, g, switches) for t, g in pairs]
    bare = [pair for pair, es in zip(pairs, edges) if not any(e.excuse for e in es)]
    yield from list(check_waits(bare))[:5]
    yield from check_edges([e for es in edges for e in es], EDGE_NS + PROBES * trace.probe_ns)
    yield from check_runs(bare)
    least_ns = max(TOTAL_SHARE * (to_ns - from_ns), TOTAL_HIT * trace.probe_ns * 2 * len(bare))
    for name, of in (("time held", lambda h: h.length), ("time waited", lambda h: h.wait)):
        yield from check_total(name, sum(of(g) for _, g in bare), sum(of(t) for t, _ in bare),
                               least_ns)


def main(log, dump, switches):
    found = list(problems(log, dump, Switches(switches)))
    print("\n".join(found))
    if not found:
        return 0
    return 2 if all(line.startswith(IMPRECISE) for line in found) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
