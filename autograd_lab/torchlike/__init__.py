"""What is so because PyTorch is so: its corners around the engine, its operations, layers and optimizers.

    autograd/     what PyTorch has around the core: custom Functions, hooks, anomaly and forward mode, checks
    ops/          the rules, a page for each family
    interface/    how functions take their arguments, and what they say of those that do not fit
    nn/ optim/ utils/ distributions/ and the files here, after PyTorch's modules of these names
    world/        what programs for PyTorch find around it: devices, saved files, stand-ins, names that are left out

All is imported under PyTorch's names, without this folder: loading/paths.py.
"""

from ..loading.paths import announce_names

announce_names()
