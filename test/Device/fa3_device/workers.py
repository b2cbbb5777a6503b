# SPDX-License-Identifier: Apache-2.0
"""Processes that use the device, watched from outside.

A kernel that hangs can only be ended with its process, and one that traps takes
its context along. So every job runs in a worker process that sends a message
for each step; one that is silent for too long is killed and replaced.
"""

import collections
import dataclasses
import multiprocessing
import multiprocessing.connection
import queue
import time
import traceback

_READY, _DONE, _ERROR = "ready", "done", "error"


@dataclasses.dataclass
class Lost:
    """The last message for a job whose worker hung, died or raised."""

    reason: str


def _serve(connection, body, setup):
    """Runs in the worker: `body(job)` yields messages."""
    try:
        setup()
        connection.send((_READY, None))
        while (job := connection.recv()) is not None:
            for message in body(job):
                connection.send((None, message))
            connection.send((_DONE, None))
    except (EOFError, KeyboardInterrupt):
        pass
    except BaseException as exception:
        lines = traceback.format_exception_only(exception)
        text = lines[-1].strip().splitlines()[0]
        where = traceback.extract_tb(exception.__traceback__)
        last = f" ({where[-1].name}:{where[-1].lineno})" if where else ""
        connection.send((_ERROR, text[:400] + last))


class _Worker:
    def __init__(self, context, body, setup, start_timeout):
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, body, setup), daemon=True
        )
        self.process.start()
        theirs.close()
        self.job = None
        self.is_ready = False
        self.deadline = time.monotonic() + start_timeout

    def give(self, job, timeout):
        self.job = job
        self.deadline = time.monotonic() + timeout
        self.connection.send(job)

    def end(self):
        """Kills the process; closing the pipe would not stop a kernel."""
        self.process.kill()
        self.process.join(30)
        self.connection.close()


class Pool:
    """Runs jobs in `count` workers. `body` and `setup` are functions of a
    module, as they are looked up in a new process."""

    def __init__(self, count, body, setup, timeout, start_timeout=120):
        # Workers are forked from a process that has imported torch, but has no
        # threads and has not touched the device.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["torch", body.__module__])
        self._count, self._body, self._setup = count, body, setup
        self._timeout, self._start_timeout = timeout, start_timeout
        self._queue = queue.SimpleQueue()
        self._expected = 0

    def expect(self, count=1):
        """Promises jobs: run() ends when all of them have been given."""
        self._expected += count

    def give(self, job):
        """From any thread; None keeps a promise without a job."""
        self._queue.put(job)

    def run(self, end=None):
        """Yields (job, message), the last message of each job being None or
        Lost. At time `end` workers are killed and open jobs are Lost."""
        workers, waiting = [], collections.deque()
        try:
            while True:
                self._collect(waiting)
                workers = self._hire(workers, waiting)
                if not workers and not waiting and not self._expected:
                    return
                late = end is not None and time.monotonic() > end
                yield from self._listen(workers, late)
                workers = [w for w in workers if w.connection is not None]
                if late:
                    for job in waiting:
                        yield job, Lost("not run, the time is over")
                    waiting.clear()
        finally:
            for worker in workers:
                if worker.connection is not None:
                    worker.end()

    def _collect(self, waiting):
        while True:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return
            self._expected -= 1
            if job is not None:
                waiting.append(job)

    def _hire(self, workers, waiting):
        """Gives jobs to idle workers; without jobs to come, lets them go."""
        for worker in workers:
            if worker.is_ready and worker.job is None and waiting:
                worker.give(waiting.popleft(), self._timeout)
        starting = sum(not worker.is_ready for worker in workers)
        for _ in range(min(self._count - len(workers), len(waiting) - starting)):
            workers.append(
                _Worker(self._context, self._body, self._setup, self._start_timeout)
            )
        if waiting or self._expected:
            return workers
        for worker in workers:
            if worker.job is None:
                worker.end()
                worker.connection = None
        return [w for w in workers if w.connection is not None]

    def _listen(self, workers, late):
        ready = multiprocessing.connection.wait(
            [worker.connection for worker in workers], 0.05
        )
        if not workers:
            time.sleep(0.05)
        for worker in workers:
            lost = None
            if worker.connection in ready:
                try:
                    kind, message = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join(5)
                    kind, message = _ERROR, f"died ({worker.process.exitcode})"
                worker.deadline = time.monotonic() + self._timeout
                if kind == _READY:
                    worker.is_ready = True
                elif kind == _DONE:
                    job, worker.job = worker.job, None
                    yield job, None
                elif kind == _ERROR:
                    lost = message
                else:
                    yield worker.job, message
            elif late:
                lost = "not run, the time is over"
            elif time.monotonic() > worker.deadline and (
                worker.job is not None or not worker.is_ready
            ):
                lost = f"no sign of life for {self._timeout} s, killed"
            if lost is not None:
                job = worker.job
                worker.end()
                worker.connection = None
                if job is not None:
                    yield job, Lost(lost)
                elif not worker.is_ready:
                    raise RuntimeError(f"no worker can be started: {lost}")


def run_one(body, setup, job, timeout):
    """Messages of one job in a process of its own; raises RuntimeError."""
    pool = Pool(1, body, setup, timeout)
    pool.expect()
    pool.give(job)
    for _, message in pool.run():
        if isinstance(message, Lost):
            raise RuntimeError(message.reason)
        if message is not None:
            yield message
