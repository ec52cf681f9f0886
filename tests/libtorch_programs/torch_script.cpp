// Must not compile: uses TorchScript.
#include <torch/script.h>

int main() { torch::jit::load("module.pt"); }
