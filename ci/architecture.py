#!/usr/bin/env python3
"""Draws docs/architecture.svg: the source folders and the includes between them.

usage: architecture.py           writes docs/architecture.svg
       architecture.py --check   fails if the picture is not that of today's includes

An arrow leads from a folder to one that it includes. Arrows that follow from others are left out (from a to c, if a
includes b and b includes c), and so is tandem.h, which includes all that users need."""
import collections
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURE = "docs/architecture.svg"
SAYS = {
    "core": "tensors as data, devices, threads",
    "emulation": "a CUDA device in plain C++",
    "kernels": "the numbers, on CPU and GPU",
    "autograd": "nodes, saved tensors, backward",
    "ops": "the operations that users call",
    "nn": "modules, layers, initialization",
    "optim": "optimizers and schedules",
    "data": "datasets, samplers, loaders",
    "serialize": "files of tensors and states",
    "logs": "metrics for TensorBoard, CSV",
    "parallel": "DataParallel, DDP, collectives",
    "train": "the Trainer, callbacks, metrics",
    "text": "tokenizers, corpora",
    "models": "MLP, LeNet, BERT, GPT",
    "benchmarks": "timings beside PyTorch",
    "examples": "small programs, on tandem.h",
    "tools": "the tandem command",
}
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 236, 50, 24, 44, 20


def includes():
    """Returns {folder: folders that its files include}."""
    files = subprocess.run(["git", "ls-files", "*.h", "*.cpp", "*.cu", "*.cuh"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split()
    found = collections.defaultdict(set)
    for file in files:
        folder = file.split("/")[0]
        if folder in SAYS:
            with open(os.path.join(ROOT, file), encoding="utf8") as source:
                names = re.findall(r'^#include [<"]tandem/([a-z]+)/', source.read(), re.M)
                found[folder].update(SAYS.keys() & set(names) - {folder})
    return found


def drawn():
    """Returns the picture's SVG text."""
    uses = includes()
    below = {}  # folder: all folders that it includes, directly or not

    def reach(folder):
        if folder not in below:
            below[folder] = set()
            for other in uses[folder]:
                below[folder] |= {other} | reach(other)
        return below[folder]

    for folder in SAYS:
        reach(folder)
    level = {}
    for folder in sorted(SAYS, key=lambda f: len(below[f])):
        level[folder] = 1 + max((level[other] for other in below[folder]), default=-1)
    for folder in SAYS:  # folders that include only core go just below their lowest user
        if below[folder] == {"core"}:
            level[folder] = min(level[user] for user in SAYS if folder in below[user]) - 1
    rows = [[f for f in SAYS if level[f] == i] for i in range(max(level.values()), -1, -1)]
    columns = max(map(len, rows))
    width = MARGIN * 2 + columns * WIDTH + (columns - 1) * GAP_X
    place = {}
    for r, row in enumerate(rows):
        left = (width - len(row) * WIDTH - (len(row) - 1) * GAP_X) / 2
        for c, folder in enumerate(row):
            place[folder] = (left + c * (WIDTH + GAP_X), MARGIN + r * (HEIGHT + GAP_Y))
    height = MARGIN * 2 + len(rows) * HEIGHT + (len(rows) - 1) * GAP_Y
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'role="img" aria-label="The folders of Tandem: each includes only those below it">',
           "<style>rect{fill:#fff;stroke:#444}text{fill:#222}path{fill:none;stroke:#777}"
           "@media(prefers-color-scheme:dark){rect{fill:#222;stroke:#bbb}text{fill:#eee}path{stroke:#999}}</style>",
           '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M1 1 7 4 1 7"/></marker></defs>']
    for folder in SAYS:
        direct = {o for o in uses[folder] if not any(o in below[between] for between in uses[folder])}
        x, y = place[folder]
        for other in sorted(direct):
            to_x, to_y = place[other]
            start = f"{x + WIDTH / 2:g} {y + HEIGHT}"
            if to_y - y > HEIGHT + GAP_Y and x > to_x:  # leads past the box between them
                line = f"V{to_y + HEIGHT / 2:g}H{to_x + WIDTH:g}"
            elif to_y - y > HEIGHT + GAP_Y:
                line = f"V{y + HEIGHT + GAP_Y / 2:g}H{to_x + WIDTH / 2:g}V{to_y}"
            else:
                line = (f"C{x + WIDTH / 2:g} {y + HEIGHT + GAP_Y * .6:g} {to_x + WIDTH / 2:g} {to_y - GAP_Y * .6:g} "
                        f"{to_x + WIDTH / 2:g} {to_y}")
            out.append(f'<path d="M{start}{line}" marker-end="url(#to)"/>')
    for folder, text in SAYS.items():
        x, y = place[folder]
        out.append(f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
                   f'<text x="{x + 10:g}" y="{y + 20:g}" font-size="15" font-weight="bold">{folder}/</text>'
                   f'<text x="{x + 10:g}" y="{y + 39:g}" font-size="11">{text}</text>')
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    picture = drawn()
    path = os.path.join(ROOT, PICTURE)
    if "--check" not in sys.argv:
        with open(path, "w", encoding="utf8") as file:
            file.write(picture)
    elif not os.path.exists(path) or open(path, encoding="utf8").read() != picture:
        sys.exit(f"{PICTURE} does not match the current includes; run ci/architecture.py")
