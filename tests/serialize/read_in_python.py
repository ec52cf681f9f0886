"""read_in_python.py FOLDER FIXTURES: reads the files that the test case "Python reads what is written here" wrote into
FOLDER, with weights_only=True, and compares them with the files that make_pytorch_files.py wrote."""
import sys

import torch

folder, fixtures = sys.argv[1:]


def same(ours, theirs, where="file"):
    if isinstance(theirs, torch.Size):
        theirs = tuple(theirs)  # Tandem stores it as a tuple
    if isinstance(theirs, torch.nn.Parameter):
        theirs = theirs.detach().requires_grad_()
    assert type(ours) is type(theirs), (where, type(ours), type(theirs))
    if isinstance(theirs, torch.Tensor):
        assert (ours.dtype, ours.shape, ours.stride()) == (theirs.dtype, theirs.shape, theirs.stride()), where
        assert ours.storage_offset() == theirs.storage_offset() and ours.requires_grad == theirs.requires_grad, where
        assert torch.equal(ours, theirs), where
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), (where, list(ours))
        for key in theirs:
            same(ours[key], theirs[key], f"{where}[{key!r}]")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs)):
            same(a, b, f"{where}[{i}]")
    else:
        assert ours == theirs, (where, ours, theirs)


def read(name, **options):
    return torch.load(f"{folder}/{name}.pt", weights_only=True, **options)


everything = torch.load(f"{fixtures}/python_everything.pt", weights_only=True)
for ours in read("everything"), read("everything", mmap=True), read("wide"):
    same(ours, everything)
    assert ours["view"].untyped_storage().data_ptr() == ours["base"].untyped_storage().data_ptr()
    assert ours["twice"][0] is ours["twice"][1]

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
net.load_state_dict(read("module"))
same(dict(net.state_dict()), dict(torch.load(f"{fixtures}/python_state_dict.pt", weights_only=True)))
same(read("tensor"), torch.arange(6).reshape(2, 3))
same(read("list"), [torch.ones(2), torch.zeros(0, 3)])

for name, saved in torch.load(f"{fixtures}/python_optimizers.pt", weights_only=True).items():
    params = [torch.nn.Parameter(p) for p in saved["params"]]
    optimizer = getattr(torch.optim, name)(params, lr=7)
    optimizer.load_state_dict(read(name))
    for i, p in enumerate(params):
        p.grad = (((torch.arange(p.numel()) * 7 + 30 + i) % 16 - 8) / 16).reshape(p.shape)
    optimizer.step()
    for p, after in zip(params, saved["after"]):
        assert torch.allclose(p, after, rtol=1e-6, atol=1e-7), (name, p, after)
lbfgs = torch.optim.LBFGS([torch.nn.Parameter(torch.ones(2))])
lbfgs.load_state_dict({**read("LBFGS"), "state": {}})
assert lbfgs.param_groups[0]["line_search_fn"] == "strong_wolfe" and lbfgs.param_groups[0]["max_iter"] == 5
print("read_in_python: all is as it was written")
