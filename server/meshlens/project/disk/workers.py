"""Distributes tasks to processes, and survives their failures: a process that ends or is stopped costs only its task.

`concurrent.futures` feeds all processes through one pipe from a separate thread. Before Python 3.12, it waits forever
for that thread if a process dies while the pipe is full, and it abandons all tasks as soon as one process dies. Here,
each process has its own pipe.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from meshlens.devices.processes import is_stopped

if TYPE_CHECKING:
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection as Connection
    else:
        from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess

Task = TypeVar("Task")
Answer = TypeVar("Answer")

LOOK_SECONDS = 0.5
STOPPED_SECONDS = 5.0
"""Seconds for which a signal may suspend a process before the process is killed."""

PARENT_SECONDS = 0.4
"""Seconds between a process's checks that its parent is alive."""


@dataclass(frozen=True, slots=True)
class _Worker:
    """A process that performs tasks.

    Attributes:
        process: the process.
        pipe: the pipe for tasks and answers.
    """

    process: BaseProcess
    pipe: Connection


def answers_of(
    work: Callable[[Task], Answer], tasks: Sequence[Task], count: int, context: BaseContext
) -> list[Answer | None]:
    """Returns the answer to each task; None for a task whose process ended or for which no process was left.

    Args:
        work: the function that performs a task; it never returns None.
        tasks: the arguments of `work`, in order.
        count: the number of processes.
        context: the multiprocessing context that starts processes.
    """
    from multiprocessing.connection import wait

    answers: list[Answer | None] = [None] * len(tasks)
    waiting = iter(range(len(tasks)))
    with _started(work, min(count, len(tasks)), context) as workers:
        busy: dict[Any, int] = {}
        for worker in workers:
            _hand(worker.pipe, tasks, waiting, busy)
        while busy:
            ready: list[Any] = wait(list(busy))
            for pipe in ready:
                task = busy.pop(pipe)
                try:
                    answers[task] = pipe.recv()
                except (EOFError, OSError):
                    continue
                _hand(pipe, tasks, waiting, busy)
    return answers


def _hand(pipe: Any, tasks: Sequence[Any], waiting: Iterator[int], busy: dict[Any, int]) -> None:
    """Gives a process the next task, if there is one."""
    for task in waiting:
        # If a task cannot be sent, its process is dead, which reading from the pipe will reveal.
        with suppress(OSError):
            pipe.send(tasks[task])
        busy[pipe] = task
        return


@contextmanager
def _started(work: Callable[[Any], Any], count: int, context: BaseContext) -> Iterator[list[_Worker]]:
    """Starts processes, kills any that a signal has suspended for too long, and ends them all on exit."""
    workers: list[_Worker] = []
    is_done = Event()
    # Start the thread after the last process, because a process with threads should not be forked.
    watch = Thread(target=_give_up_halted, args=(workers, is_done), daemon=True, name="workers")
    try:
        for _ in range(count):
            workers.append(_start(work, context))
        watch.start()
        yield workers
    finally:
        is_done.set()
        if watch.ident is not None:
            watch.join()
        for worker in workers:
            worker.pipe.close()
            worker.process.kill()
            worker.process.join()


def _start(work: Callable[[Any], Any], context: BaseContext) -> _Worker:
    ours, theirs = context.Pipe()
    process: BaseProcess = context.Process(  # type: ignore[attr-defined]
        target=_serve, args=(work, theirs, os.getpid()), daemon=True
    )
    process.start()
    # A pipe ends when no process holds its other end.
    theirs.close()
    return _Worker(process, ours)


def _give_up_halted(workers: Sequence[_Worker], is_done: Event) -> None:
    """Kills processes that a signal has suspended for too long, so that code that waits for them continues."""
    halted = 0.0
    while not is_done.wait(LOOK_SECONDS):
        processes = [worker.process for worker in workers]
        stopped = [process for process in processes if process.pid is not None and is_stopped(process.pid)]
        halted = halted + LOOK_SECONDS if stopped else 0.0
        if halted >= STOPPED_SECONDS:
            for process in stopped:
                process.kill()


def _serve(work: Callable[[Any], Any], pipe: Connection, parent: int) -> None:
    """Performs tasks until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _end_with(parent)
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        answer = work(task)
        try:
            pipe.send(answer)
        except OSError:
            return


def _end_with(parent: int) -> None:
    """Ends this process, even during a task, if its parent is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(1)

    if os.name == "posix":
        Thread(target=watch, daemon=True, name="parent").start()
