"""The observer protocol: everything the engine tells a watcher, one method for each kind of event.

A watcher is in `THREAD.state.watch` and in the list `WATCHERS` (modes.py) while it works. Code that shows, records or compiles a program
inherits from `Watch` and overrides the events it needs. Without a watcher, `NOBODY` takes its place.
"""


class Watch:
    """A watcher that hears everything and does nothing; subclasses override what they need.

    >>> class Printer(Watch):
    ...     def operation(self, rule, inputs, outputs, node, args):
    ...         print(rule.op, "gives", outputs[0].item())
    ...
    ...     def popped(self, run, node, g):
    ...         print(node.name(), "gets", g)
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> printer, state = Printer(), core.modes.THREAD.state
    >>> state.watch = printer
    >>> core.modes.WATCHERS.append(printer)
    >>> state.refresh()
    >>> (x * x).backward()
    mul gives 9.0
    MulBackward0 gets 1.0
    torch::autograd::AccumulateGrad gets 6.0
    >>> state.watch = None
    >>> core.modes.WATCHERS.remove(printer)
    >>> state.refresh()
    """

    running = True  # whether it still listens: a recorder that has ended does not
    batch = None  # the running batch of vmap, if this is one or is combined with one
    rewinds = False  # whether `mark` and `restore` can undo notes

    # -- the forward pass -----------------------------------------------------------------------------

    def operation(self, rule, inputs, outputs, node, args):
        """An operation ran; `rule` is its class, or its name if it has none, and `node` is None if it was not recorded."""

    def writing(self, target):
        """The memory of a tensor is about to be written."""

    def written(self, rule, inputs, target, node, name, args=()):
        """A tensor was written in place by the operation called `name`."""

    def moving(self, target, name, inputs, args, data):
        """The kernel `name` has computed `data`, which is about to overwrite a running statistic without a counted write."""

    def detached(self, source, out, how):
        """`out` shares the memory of `source` and has no history; `how` is "detach" or "data"."""

    def remade(self, source, out, how):
        """A leaf was made from the numbers of another tensor: `how` is "Parameter" or "deepcopy"."""

    def shared(self, t):
        """From here on, NumPy shares the memory of a tensor."""

    def copied(self, data, out):
        """`out` was made from Python data that contains tensors; only their numbers were used."""

    def followed(self, out, sources):
        """A tensor was made from others without an operation, or with their shape and type."""

    def made(self, t):
        """A tensor was created, as by `zeros` or `arange`."""

    def read(self, t, how):
        """The numbers of a tensor left the graph through the method `how`: "item", "tolist" or "numpy"."""

    def looked(self, t, how):
        """The numbers of a tensor decided something: a branch, or the shape of a result."""

    def flagged(self, t, how):
        """The method `how` changed whether a tensor requires a gradient, retains its gradient, or has hooks."""

    def hooks_changed(self, what):
        """A hook is about to be registered on `what`, a node or a saved tensor; or one was removed from it, a table of hooks."""

    def grad_set(self, t, how):
        """The user's code assigned, cleared or wrote `.grad` of a tensor."""

    def mode(self, on):
        """Recording of the graph was switched on or off."""

    def drawing(self, generator):
        """Random numbers are about to be drawn."""

    def drew(self, name, args, out):
        """The kernel `name` has drawn the numbers of `out`."""

    def seeded(self, generator):
        """The state of a random number generator was read or set."""

    def entered(self, what, name=""):
        """A module was called, or a scope that the user named was entered (then `what` is None)."""

    def left(self):
        """The module or scope that was entered last was left."""

    def stepped(self, optimizer):
        """An optimizer is about to change its parameters."""

    # -- the backward pass ----------------------------------------------------------------------------

    def asked(self, outputs, inputs):
        """`backward` or `grad` was called for some outputs, perhaps with `inputs`; a pass or an error follows."""

    def sent(self, gradients):
        """`grad` was given these gradients of its outputs, or None."""

    def granted(self, inputs, results):
        """`grad` returns these gradients with respect to `inputs`."""

    def pass_started(self, run, roots, call):
        """A backward pass has counted its dependencies and is about to run; its `watch` may be replaced now."""

    def delivered(self, run, sender, i, fn, nr, g, old, total):
        """Message `g`, number `i` of its sender, reached slot `nr` of `fn`, which held `old` and now holds `total`."""

    def pushed(self, run, fn):
        """A node has all its messages and was put into the ready queue."""

    def popped(self, run, node, g):
        """A node was taken from the ready queue with the gradient, or the gradients, that arrived for it."""

    def handing(self, run, node, stage, grads, context=()):
        """User code is about to get gradients at a node, and also sees those in `context`."""

    def hooked(self, run, node, stage, after, nr=0):
        """User code has seen its gradients, perhaps changed them, and returned `after`."""

    def applying(self, run, node, slots):
        """The rule of a node is about to run on the gradients in `slots`."""

    def applied(self, run, node, slots, grads):
        """The rule of a node turned the gradients in `slots` into `grads`, one for each operand."""

    def released(self, run, node):
        """A node has dropped its saved values."""

    def pruned(self, run, node, i):
        """Nothing is sent to operand `i` of a node: it needs no gradient."""

    def retained(self, run, t, g):
        """A non-leaf tensor with retain_grad keeps its gradient."""

    def failed(self, run, error):
        """A pass, or a call that requested one (then `run` is None), ended with an error."""

    def pass_done(self, run):
        """A pass is complete."""

    # -- a run that is undone and repeated --------------------------------------------------------------

    def mark(self):
        """A mark of everything noted so far, for `restore`."""

    def restore(self, mark):
        """Forget what was noted since `mark`."""


NOBODY = Watch()
