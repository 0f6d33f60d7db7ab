"""torch.nn.parallel, on a machine without devices to spread over."""

from .module import Module


class DataParallel(Module):
    """A module spread over devices; here it runs where it is (torch.nn.DataParallel). Its parameters are named "module. ..."."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """A module trained by several processes together: raises RuntimeError, for there is one process here."""

    def __init__(self, module, *args, **kwargs):
        raise RuntimeError(
            "DistributedDataParallel needs several processes, and autograd_lab runs in one. Use the module itself, which computes "
            "the same on one process"
        )


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Raises RuntimeError, as PyTorch does without devices (torch.nn.parallel.data_parallel)."""
    raise RuntimeError("device type could not be determined")


__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
