"""Passes nested too deep for Python's call stack continue in another thread."""

import contextvars
import sys
import threading

from .modes import THREAD


def in_another_thread(fn, *args):
    """Call fn(*args) in a new thread, with the switches and context variables of this one, and wait for it.

    WebAssembly has no threads: there it is called in this one, and a pass that is nested too deep ends in a RecursionError.
    """
    if sys.platform == "emscripten":
        return fn(*args)
    state, context = THREAD.state, contextvars.copy_context()
    done = []

    def call():
        THREAD.state = state
        try:
            done.append((context.run(fn, *args), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    result, error = done.pop()
    if error is not None:
        raise error
    return result
