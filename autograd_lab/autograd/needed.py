"""Which nodes a pass must run that goes to some leaves only, or stops on its way: `backward(inputs=...)` and `grad`."""


def needed_nodes(roots, deps, captures, only):
    """{node: whether it must run} for the nodes of a restricted pass; nodes not in it get no messages.

    A node must run if a wanted gradient lies behind it; a node that is only captured gets its messages and stops.
    """
    users = {}
    for node in deps:
        for fn, _ in node.next_functions:
            if fn is not None:
                users.setdefault(fn, []).append(node)
    needed = dict.fromkeys((n for n in captures if n in deps), False)
    needed.update(dict.fromkeys((n for n in only if n in deps), True))
    stack = list(needed)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in needed:
                needed[user] = True
                stack.append(user)
            elif not needed[user]:
                needed[user] = True
    return needed
