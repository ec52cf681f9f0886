#!/usr/bin/env python3
"""Measures FashionCNN's test accuracy on FashionMNIST in PyTorch, with the same training as `tandem demo`: batch 128, Adam
1e-3, shuffled, pixels from 0 to 1, channels-last. Prints for each seed the accuracy and the seconds of training, then the
mean and standard deviation of the accuracies. accuracy.sh and epoch.py compare Tandem with them. On a GPU (DEVICE cuda) the
images are in its memory, and convolutions compute in float32, as Tandem's do.

  python accuracy_torch.py DATA [SEEDS] [EPOCHS] [DEVICE]      DATA: the folder of the four IDX files (.gz)
"""
import gzip
import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from torch_models import fashion_cnn


def read(kind):
    def idx(name, header):
        return torch.frombuffer(bytearray(gzip.open(Path(sys.argv[1]) / name).read()[header:]), dtype=torch.uint8)
    images = idx(f"{kind}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).float() / 255
    return images, idx(f"{kind}-labels-idx1-ubyte.gz", 8).long()


def main():
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    device = torch.device(sys.argv[4] if len(sys.argv) > 4 else "cpu")
    torch.backends.cudnn.allow_tf32 = False
    (images, labels), (test_images, test_labels) = [[x.to(device) for x in read(kind)] for kind in ("train", "t10k")]
    accuracies = []
    for seed in range(1, seeds + 1):
        torch.manual_seed(seed)
        model = fashion_cnn().to(device, memory_format=torch.channels_last)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        start = time.perf_counter()
        for _ in range(epochs):
            for rows in torch.randperm(len(images), device=device).split(128):
                optimizer.zero_grad()
                F.cross_entropy(model(images[rows]), labels[rows]).backward()
                optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        model.eval()
        with torch.no_grad():
            right = sum((model(x).argmax(1) == y).sum().item()
                        for x, y in zip(test_images.split(500), test_labels.split(500)))
        accuracies.append(100 * right / len(test_labels))
        print(f"seed {seed}: {accuracies[-1]:.2f} % in {seconds:.2f} s", flush=True)
    if seeds > 1:
        print(f"mean {statistics.mean(accuracies):.2f} %, standard deviation {statistics.stdev(accuracies):.2f}")


main()
