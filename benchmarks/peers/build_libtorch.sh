#!/bin/sh
# Compiles a program against the LibTorch inside a PyTorch wheel; links only its CPU libraries.
# usage: build_libtorch.sh PYTHON SOURCE.cpp OUTPUT   PYTHON: an interpreter with torch
set -eu
root=$("$1" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
abi=$("$1" -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')
exec "${CXX:-g++}" -std=c++20 -O2 -DNDEBUG -D_GLIBCXX_USE_CXX11_ABI="$abi" "$2" -o "$3" \
  -I"$root/include" -I"$root/include/torch/csrc/api/include" \
  -L"$root/lib" -Wl,--no-as-needed -ltorch_cpu -lc10 -Wl,-rpath,"$root/lib" ${EXTRA_LIBS:-}
