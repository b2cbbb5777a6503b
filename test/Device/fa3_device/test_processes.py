# SPDX-License-Identifier: Apache-2.0
"""Tests of others, one at a time in processes that share the GPU; a process that dies or
that is late is replaced, and its test counts as failed."""

import collections
import json
import queue
import subprocess
import threading
import time


class Worker:
    """A process, started as `command`, which runs a test for each line of JSON that it
    reads, and says in one what came of it: outcome, why, seconds. Its first line says
    that it is ready. `timeout` is the seconds of a test."""

    def __init__(self, command, timeout):
        self.command, self.timeout = command, timeout
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.lines, self.errors = queue.Queue(), collections.deque(maxlen=20)
        for pipe, put in (
            (self.process.stdout, self.lines.put), (self.process.stderr, self.errors.append),
        ):  # fmt: skip
            threading.Thread(
                target=lambda pipe=pipe, put=put: [put(line) for line in pipe] and None,
                daemon=True,
            ).start()
        return self.read(300) is not None

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                return json.loads(self.lines.get(timeout=0.2))
            except queue.Empty:
                if self.process.poll() is not None and self.lines.empty():
                    return None
        return None

    def run(self, case):
        if self.process is None and not self.start():
            why = "".join(self.errors)[-400:]
            self.stop()
            return {"outcome": "failed", "why": f"no process: {why}", "seconds": 0}
        begin = time.monotonic()
        try:
            self.process.stdin.write(json.dumps(case) + "\n")
            self.process.stdin.flush()
            made = self.read(self.timeout)
        except BrokenPipeError:
            made = None
        if made is None:
            dead = self.process.poll() is not None
            why = "".join(self.errors)[-300:] if dead else ""
            self.stop()
            return {"outcome": "failed", "seconds": round(time.monotonic() - begin, 3),
                    "why": f"process died: {why}" if dead else "timeout"}  # fmt: skip
        if made["outcome"] == "broken":
            made["outcome"] = "failed"
            self.stop()
        return made

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def run_all(options, spell, cases, command, alone, out):
    """Runs cases until they or the seconds are used up, in processes that `command`
    starts; gives what came of them, and how many are left. spell(case) is its id and the
    name of its function. What had no memory is run again in a process of `alone`."""
    end = time.monotonic() + options.seconds
    results, again, lock = [], [], threading.Lock()
    waiting = collections.deque(cases)

    def note(case, made):
        spelled, name = spell(case)
        results.append({"id": spelled, "function": name, **made})
        if out is not None:
            out.write(json.dumps(results[-1]) + "\n")
            out.flush()
        if made["outcome"] == "failed":
            print(f"{spelled}: {made['why'][:300]}", flush=True)

    def serve(worker, source, repeats):
        while time.monotonic() < end:
            with lock:
                if not source:
                    break
                case = source.popleft()
            made = worker.run(case)
            with lock:
                if made["outcome"] == "memory" and repeats:
                    again.append(case)
                else:
                    if made["outcome"] == "memory":
                        made["outcome"] = "failed"
                    note(case, made)
        worker.stop()

    threads = [
        threading.Thread(target=serve, args=(Worker(command, options.timeout), waiting, True))
        for _ in range(options.processes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    serve(Worker(alone, options.timeout), collections.deque(again), False)
    return results, len(waiting)


def table(results, left, seconds):
    kinds = ("passed", "failed", "refused", "skipped")
    rows = collections.defaultdict(collections.Counter)
    spent = collections.Counter()
    for one in results:
        for row in (one["function"], "all"):
            rows[row][one["outcome"]] += 1
            spent[row] += one["seconds"]
    print(f"\n{'function':40}" + "".join(f"{kind:>9}" for kind in kinds) + f"{'s each':>9}")
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        counts = rows[name]
        print(
            f"{name:40}" + "".join(f"{counts[kind]:9}" for kind in kinds)
            + f"{spent[name] / max(sum(counts.values()), 1):9.2f}"
        )
    for kind in ("refused", "failed"):
        why = collections.Counter(
            one["why"].splitlines()[0][:150] if one["why"] else "" for one in results
            if one["outcome"] == kind
        )
        for text, count in why.most_common(20):
            print(f"{kind} {count}: {text}")
    if left:
        print(f"{left} ids were not run: the seconds were used up")
    print(f"{seconds:.0f} s")
