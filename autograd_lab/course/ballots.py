"""The questions of `lab.classroom`, one for each misconception: a short program, and answers that learners really give.

The truth is not written here: the program is run, and its result is the truth (classroom.py). A program ends with
the expression in question. Among the answers, `trap` is the one that follows from the misconception.
"""

import re
from typing import NamedTuple


class Ballot(NamedTuple):
    """One question as its author writes it."""

    ask: str
    program: str
    answers: dict[str, str]
    """answer -> what leads to it"""
    trap: str
    refutes: str
    """why the misconception does not hold, said to the class after the vote"""


BALLOTS: dict[str, Ballot] = {}


def _ballot(id_: str, ask: str, program: str, answers: dict[str, str], trap: str, refutes: str) -> None:
    in_order = dict(sorted(answers.items(), key=lambda answer: _rank(answer[0])))
    BALLOTS[id_] = Ballot(ask, program.strip("\n") + "\n", in_order, trap, refutes)


def _rank(answer: str) -> tuple[int, float, str]:
    """Numbers by size, then words alphabetically: an order that reveals nothing."""
    number = re.fullmatch(r"-?\d+(\.\d+)?", answer)
    return (0, float(answer), "") if number else (1, 0, answer.casefold())


_ballot(
    "M01",
    "The slope of x * x at 3: once from autograd, once by nudging x by a very small h. Which two numbers?",
    """
x = torch.tensor(3.0, requires_grad=True)
y = x * x
y.backward()

h = 1e-16
nudged = ((3 + h) ** 2 - 3**2) / h
x.grad, nudged
""",
    {
        "6, 6": "nudging with a small enough h should be exact, so both agree",
        "6, 0": "3 + h is rounded to 3: the nudge is lost, while autograd never nudges",
        "0, 0": "both lose the nudge, if autograd nudges too",
    },
    "6, 6",
    "Autograd neither nudges nor rewrites formulas. It multiplies by the derivative of each operation, at the numbers "
    "that went through it, so there is no h to choose and nothing to round away.",
)
_ballot(
    "M02",
    "Nobody has called backward yet. What is b.grad_fn?",
    """
a = torch.tensor(3.0, requires_grad=True)
b = a * a
b.grad_fn
""",
    {
        "None": "the graph is there only once backward has been called",
        "AccumulateGrad": "b is mixed up with the leaf a, where the gradient of a will arrive",
        "MulBackward0": "the product made its node when it was computed",
    },
    "None",
    "Every operation makes its node at once, while the forward pass runs. Backward only walks the graph that is already there.",
)
_ballot(
    "M03",
    "c does not require a gradient. What is c.grad after backward?",
    """
a = torch.tensor(2.0, requires_grad=True)
c = torch.tensor(5.0)
y = a * c
y.backward()
c.grad
""",
    {
        "2": "the product's rule is applied to both factors",
        "0": "a constant does not change, so its gradient should be zero",
        "None": "the node has no edge to c, so nothing is ever computed for it",
        "an error": "asking a constant for a gradient should not be allowed",
    },
    "0",
    "The node of the product has an edge for a, and None where the edge to c would be. Zero would be a number that somebody "
    "had computed. Here nobody computes anything.",
)
_ballot(
    "M04",
    "a is used twice. Do both edges of the product lead to the same node?",
    """
a = torch.tensor(3.0, requires_grad=True)
b = a * a
(first, _), (second, _) = b.grad_fn.next_functions
first is second
""",
    {
        "False": "each use of a has an accumulator of its own, to be added up later",
        "True": "a leaf has one accumulator, and every use leads there",
        "an error": "a product of a with itself has only one edge",
    },
    "False",
    "A leaf has one AccumulateGrad node, however often it is used. That is where the messages of all uses meet and are added.",
)
_ballot(
    "M05",
    "requires_grad is switched on after y was computed. What is x.grad?",
    """
x = torch.tensor(3.0)
y = x * x
x.requires_grad_()
y.backward()
x.grad
""",
    {
        "6": "x requires a gradient by the time backward is called",
        "None": "backward runs, but does not find the way to x",
        "an error": "y was computed unrecorded, so there is no graph to go back through",
    },
    "6",
    "Whether an operation is recorded is decided when it runs. At y = x * x nothing required grad, so no node was made, and "
    "none is made later.",
)
_ballot(
    "M06",
    "What is a.grad?",
    """
a = torch.tensor(2.0, requires_grad=True)
b = a * a
c = b * 3
y = b * c
y.backward()
a.grad
""",
    {
        "48": "the node of b ran when the first message came in; the second was lost",
        "144": "every message was passed on at once, and added up on top of what had been passed before",
        "96": "the node of b waited for both messages, then ran once",
        "0": "the nodes ran in the order of the program, before anything had reached them",
    },
    "48",
    "b is used twice, so two messages come back to it. Its node must wait until both are there, add them, and run once. An "
    "order that does not wait loses a message or counts one twice.",
)
_ballot(
    "M07",
    "What is a.grad?",
    """
a = torch.tensor(3.0, requires_grad=True)
b = a + a
b.backward()
a.grad
""",
    {
        "1": "both uses send 1, and the second one replaces the first",
        "6": "that is the value of b",
        "2": "both uses send 1, and what meets is added",
        "9": "the two uses are multiplied",
    },
    "1",
    "Gradients that reach one tensor are added: when a changes, both uses change, and the effects add up.",
)
_ballot(
    "M08",
    "h lies between the leaf and the result. What is h.grad?",
    """
a = torch.tensor(3.0, requires_grad=True)
h = a * 2
y = h * h
y.backward()
h.grad
""",
    {
        "12": "the gradient passed through h, so it can be read there",
        "24": "that is the gradient of a",
        "None": "it passed through and was not kept: h is not a leaf",
        "0": "the .grad of every tensor starts at zero",
    },
    "12",
    "The 12 did pass through h, on the way to a. It is written into .grad only at leaves, and where h.retain_grad() asked "
    "for it: to keep all of them would cost as much memory as the forward pass.",
)
_ballot(
    "M09",
    "A parameter is made and scaled in one line. Is w a leaf, and what is w.grad?",
    """
w = torch.tensor(5.0, requires_grad=True) * 0.1
loss = w * w
loss.backward()
w.is_leaf, w.grad
""",
    {
        "True, 1": "w requires a gradient, and that is what makes a leaf",
        "False, 1": "w is not a leaf, but every tensor has its gradient",
        "False, None": "w is the result of a product; the leaf has no name",
        "True, None": "w is a leaf, but its gradient went elsewhere",
    },
    "True, 1",
    "A leaf is a tensor that no recorded operation made. Here the leaf is the 5.0 that was never given a name; w requires a gradient "
    "because it was computed from it.",
)
_ballot(
    "M10",
    "Two backward passes through the same graph. What is a.grad?",
    """
a = torch.tensor(3.0, requires_grad=True)
y = a * a
y.backward(retain_graph=True)
y.backward()
a.grad
""",
    {
        "6": "the second pass writes the same number over the first",
        "an error": "a graph can be used only once",
        "12": "each pass adds 6 to what is there",
        "36": "the second pass multiplies the first gradient by 6",
    },
    "6",
    "backward adds to .grad, it does not replace it. That is why a training loop has zero_grad in it.",
)
_ballot(
    "M11",
    "One leaf is multiplied by zero, the other is not used. Which two gradients?",
    """
used = torch.tensor(2.0, requires_grad=True)
unused = torch.tensor(5.0, requires_grad=True)
loss = used * 0
loss.backward()
used.grad, unused.grad
""",
    {
        "0, 0": "neither has an effect on the loss",
        "0, None": "a message of 0 reached the first, no message reached the second",
        "None, None": "neither has an effect, so neither gets anything",
        "None, 0": "the product with 0 cuts the path",
    },
    "0, 0",
    "Zero is a message that arrived and said 0. None says that no message ever came. An optimizer treats them differently: it "
    "skips a parameter with None, and one with 0 can still move, by momentum or weight decay.",
)
_ballot(
    "M12",
    "backward is called twice, without retain_graph. What is a.grad?",
    """
a = torch.tensor(3.0, requires_grad=True)
y = a + a
y.backward()
y.backward()
a.grad
""",
    {
        "an error": "the graph is freed by the first call",
        "2": "the second call does nothing, or writes the same number",
        "4": "a sum saves nothing, so nothing is missing, and 2 is added twice",
    },
    "an error",
    "The first call frees the saved values, not the graph. A sum saves none. With a * a in its place there would be an error.",
)
_ballot(
    "M13",
    "What is h.grad after backward(retain_graph=True)?",
    """
a = torch.tensor(3.0, requires_grad=True)
h = a * 2
y = h * h
y.backward(retain_graph=True)
h.grad
""",
    {
        "12": "retain_graph keeps everything, the gradient of h too",
        "None": "retain_graph keeps saved values; what keeps a gradient is retain_grad",
        "24": "that is the gradient of a",
        "an error": "retain_graph needs a second backward",
    },
    "12",
    "Three names, three things: retain_graph keeps the saved values for another pass, retain_grad keeps the gradient of one "
    "tensor, create_graph records the backward pass itself.",
)
_ballot(
    "M14",
    "The loop complained, retain_graph=True silenced it. .grad is cleared in every turn. What is w.grad in the end?",
    """
w = torch.tensor(2.0, requires_grad=True)
h = torch.tensor(1.0)
for turn in range(3):
    w.grad = None
    h = h * w
    h.backward(retain_graph=True)
w.grad
""",
    {
        "4": "the gradient of the last turn alone: h was 4 when it began",
        "12": "the last pass goes back through all three turns: 3 * w ** 2",
        "1": "each turn starts afresh from h = 1",
        "an error": "the second turn fails in spite of retain_graph",
    },
    "4",
    "The error had a cause: h still hangs on the graphs of all turns before. retain_graph keeps them alive, so each pass is "
    "longer than the last and gives a different gradient. The cure is h = h.detach() where a turn begins.",
)
_ballot(
    "M15",
    "One step of gradient descent by hand, then another backward. What is w.grad?",
    """
w = torch.tensor(1.0, requires_grad=True)
loss = w * w
loss.backward()
w = w - 0.1 * w.grad
loss = w * w
loss.backward()
w.grad
""",
    {
        "1.6": "w is 0.8 now, and its gradient 2 * 0.8",
        "2": "the gradient of the first pass is still there",
        "3.6": "2 from the first pass, 1.6 from the second",
        "None": "w is now the result of a subtraction, not a leaf",
    },
    "1.6",
    "The line does not change the parameter. It gives its name to a new tensor, computed from it. Gradients still go to the old "
    "one. Update in place, under torch.no_grad().",
)
_ballot(
    "M16",
    "One of the two factors is detached. What is x.grad?",
    """
x = torch.tensor(3.0, requires_grad=True)
y = x * x.detach()
y.backward()
x.grad
""",
    {
        "6": "detach does not change the value, so nothing changes",
        "an error": "detach switches recording off, as no_grad does",
        "3": "only the path through the detached factor is cut",
        "0": "x is detached, so no gradient comes through",
    },
    "an error",
    "detach cuts one value loose, and the product still records its other factor. no_grad would have recorded nothing at all, "
    "and eval() does not concern autograd.",
)
_ballot(
    "M17",
    "y travels through a Python number into a new tensor. What is x.grad?",
    """
x = torch.tensor(3.0, requires_grad=True)
y = x * x
loss = torch.tensor(y.item() * 2, requires_grad=True)
loss.backward()
x.grad
""",
    {
        "12": "the chain rule: 2 times 2 * x",
        "6": "the factor 2 is lost, because it is a plain number",
        "an error": "backward notices that the path is cut",
        "None": "item() gives a number without history; the new tensor is a leaf of its own",
    },
    "12",
    "A Python number has no grad_fn. What is made from it begins a new graph, and backward ends there, quietly.",
)
_ballot(
    "M18",
    "A column of 3 and a row of 4 make a table of 3 by 4. What is the shape of x.grad?",
    """
x = torch.ones(3, 1, requires_grad=True)
b = torch.ones(4, requires_grad=True)
(x + b).sum().backward()
x.grad.shape
""",
    {
        "(3, 4)": "the gradient has the shape that the sum had",
        "(3, 1)": "a gradient has the shape of its tensor: what broadcasting copied is added up",
        "()": "the loss is one number, so its gradient is one",
        "(4,)": "the shapes swap on the way back",
    },
    "(3, 4)",
    "Broadcasting uses each number of x four times, and what comes back from several uses is added. So x.grad has the shape of x.",
)
_ballot(
    "M19",
    "What is the last element of x.grad?",
    """
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
loss = (x * x).mean()
loss.backward()
x.grad[3]
""",
    {
        "8": "2 * 4, as with a sum",
        "16": "that is the value of x * x there",
        "2": "2 * 4, divided by the 4 elements of the mean",
        "1": "each element has its share of 1 in a mean",
    },
    "8",
    "A mean is a sum divided by n, and so are its gradients. With the sum, the size of the batch changes the size of the step; "
    "with the mean it does not.",
)
_ballot(
    "M20",
    "backward is given v = (1, 0, 0). What is a.grad?",
    """
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = a * a
v = torch.tensor([1.0, 0.0, 0.0])
y.backward(v)
a.grad
""",
    {
        "[[2, 0, 0], [0, 4, 0], [0, 0, 6]]": "all derivatives of all elements: the Jacobian",
        "[2, 4, 6]": "v only says where to start, and each element has its own derivative",
        "[2, 0, 0]": "v times the Jacobian: here its first row",
        "[1, 0, 0]": "v is the gradient",
    },
    "[[2, 0, 0], [0, 4, 0], [0, 0, 6]]",
    "backward never computes the Jacobian. It computes v times the Jacobian, one number for each element of a; for the whole "
    "matrix it would have to run once per row.",
)
_ballot(
    "M21",
    "One number in, three out. How many passes does it take to have all slopes: in reverse mode, and in forward mode?",
    """
x = torch.tensor(2.0, requires_grad=True)
y = torch.stack([x, x**2, x**3])
reverse = 0
for v in torch.eye(3):
    torch.autograd.grad(y, x, v, retain_graph=True)
    reverse += 1

forward, ad = 0, torch.autograd.forward_ad
with ad.dual_level():
    d = ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    y = torch.stack([d, d**2, d**3])
    slopes = ad.unpack_dual(y).tangent
    forward += 1
reverse, forward
""",
    {
        "1, 3": "reverse mode is the fast one",
        "3, 1": "reverse goes output by output, forward goes input by input",
        "1, 1": "each mode gives everything in one pass",
        "3, 3": "three outputs, three passes, whichever way",
    },
    "1, 3",
    "Forward mode takes one pass per input, reverse mode one per output. A loss has millions of inputs and one output; here it "
    "is the other way round.",
)
_ballot(
    "M22",
    "b is overwritten in place before backward. What is a.grad?",
    """
a = torch.tensor(2.0, requires_grad=True)
b = a + 1
b.mul_(10)
b.backward()
a.grad
""",
    {
        "an error": "a tensor of the graph must not be changed",
        "1": "the sum's gradient; the change in place is not recorded",
        "10": "the change is recorded as a product, and nothing it overwrote was saved",
    },
    "an error",
    "Writing in place is recorded like everything else. There is an error only if some node had saved the value that is gone, "
    "and a sum saves nothing.",
)
_ballot(
    "M23",
    "x is overwritten through .data, after y was computed. What is x.grad?",
    """
x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.data.fill_(100.0)
y.backward()
x.grad
""",
    {
        "6": ".data is the safe way: y was computed at 3",
        "an error": "the version check notices that a saved value has changed",
        "200": "the saved value was overwritten, and nobody noticed",
        "None": ".data cuts x off from the graph",
    },
    "6",
    "The product saved x itself, not a copy. .data writes past the version counter, so the check cannot see it: the error is "
    "gone and the gradient is wrong. Through x.detach() it would have been caught.",
)
_ballot(
    "M24",
    "c is a piece of b, and is changed. What is a.grad?",
    """
a = torch.tensor([1.0, 1.0], requires_grad=True)
b = a.clone()
c = b[0]
c.mul_(10)
b.sum().backward()
a.grad
""",
    {
        "[1, 1]": "c is a copy: b does not notice",
        "[10, 1]": "c is a window on b: the change belongs to b's history",
        "[10, 10]": "the factor acts on all of b",
        "an error": "writing into a piece of a tensor is not allowed",
    },
    "[1, 1]",
    "Indexing gives a view, which shares its memory with b. Writing into it changes b, and autograd rewrites b's history so "
    "that the factor is in it.",
)
_ballot(
    "M25",
    "relu has a kink at 0. What is x.grad there?",
    """
x = torch.tensor(0.0, requires_grad=True)
y = torch.relu(x)
y.backward()
x.grad
""",
    {
        "an error": "there is no derivative at a kink",
        "1": "the slope on the right",
        "0": "by convention, the slope on the left",
        "0.5": "the middle of both slopes",
    },
    "an error",
    "Where a derivative does not exist the rule still has to return some number, and a convention says which: for relu 0. No "
    "error tells you.",
)
_ballot(
    "M26",
    "where() does not take the branch with the root. What is x.grad?",
    """
x = torch.tensor(0.0, requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.tensor(0.0))
y.backward()
x.grad
""",
    {
        "0": "the branch with the root is not taken",
        "inf": "the slope of the root at 0",
        "nan": "the message 0 meets the slope inf: 0 * inf",
        "an error": "the root has no derivative at 0",
    },
    "0",
    "where() computes both branches, and backward visits both. The branch that was not taken gets the message 0, and 0 times inf "
    "is nan. Make the input safe before the root, not the result after it.",
)
_ballot(
    "M27",
    "x is turned into a whole number on the way. What is x.grad?",
    """
x = torch.tensor(2.6, requires_grad=True)
n = x.long()
y = n * 3.0
y.backward()
x.grad
""",
    {
        "3": "the conversion passes the gradient on",
        "0": "a step function has slope zero almost everywhere",
        "an error": "a whole number cannot require a gradient, so y does not either",
    },
    "3",
    "Only floating-point tensors can require a gradient: a whole number cannot move by a little. The conversion ends the graph, and "
    "y.backward() has nothing to go back through.",
)
_ballot(
    "M28",
    "The gradient of a gradient. What does the last line give?",
    """
x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x**3, x)
(h,) = torch.autograd.grad(g, x)
h
""",
    {
        "12": "g is 3 * x ** 2, and its slope at 2 is 6 * 2",
        "an error": "the backward pass that made g was not recorded",
        "0": "g is a number by now, and a constant has slope zero",
        "6": "one factor too few: 3 * 2",
    },
    "12",
    "A backward pass computes with recording switched off, unless create_graph=True asks for it. Without it g is a plain number "
    "with no history.",
)
_ballot(
    "M29",
    "autograd.grad computes the gradient. What is x.grad?",
    """
x = torch.tensor(3.0, requires_grad=True)
y = x * x
(g,) = torch.autograd.grad(y, x)
x.grad
""",
    {
        "6": "the gradient of x is stored where gradients are stored",
        "None": "autograd.grad hands the gradient over and leaves .grad alone",
        "0": ".grad was made, and nothing was added",
    },
    "6",
    "autograd.grad returns gradients and writes nothing. Only backward adds into .grad.",
)
_ballot(
    "M30",
    "The optimizer steps between a forward and its backward. What is w.grad?",
    """
w = torch.tensor(2.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.5)
(w * w).backward()
loss = w * w * w
optimizer.step()
optimizer.zero_grad()
loss.backward()
w.grad
""",
    {
        "12": "loss was computed at w = 2, and its slope there is 12",
        "0": "w is 0 by now, and the slope there is 0",
        "an error": "the step wrote into w, which the products had saved",
    },
    "12",
    "step() writes into the parameters in place. The graph of loss had saved their old values, and the version check finds "
    "that they are gone. Finish the backward pass before the step.",
)
