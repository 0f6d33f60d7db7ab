"""A pass that is too deep in others for Python's calls goes on in a thread of its own."""

import contextvars
import threading

from .modes import THREAD


def in_another_thread(fn, *args):
    """Call fn(*args) in a thread of its own, with the switches and context variables of this one, and wait for it."""
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
