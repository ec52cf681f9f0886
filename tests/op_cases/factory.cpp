// Op cases that make tensors from numbers: windows and sequences. The first input determines the dtype.
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/linspace.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/window.h"
#include "tandem/ops/shape/tril_triu.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

constexpr OpCase kFactoryCases[] = {
    {"bartlett_window", [](In in) { return bartlett_window(7, in[0].options()); }},
    {"bartlett_window/symmetric", [](In in) { return bartlett_window(6, false, in[0].options()); }},
    {"blackman_window", [](In in) { return blackman_window(7, in[0].options()); }},
    {"hamming_window", [](In in) { return hamming_window(7, in[0].options()); }},
    {"hamming_window/weights", [](In in) { return hamming_window(8, false, 0.6, 0.3, in[0].options()); }},
    {"hann_window", [](In in) { return hann_window(7, in[0].options()); }},
    {"hann_window/one", [](In in) { return hann_window(1, in[0].options()); }},
    {"kaiser_window", [](In in) { return kaiser_window(7, in[0].options()); }},
    {"kaiser_window/beta", [](In in) { return kaiser_window(8, false, 5.0, in[0].options()); }},
    {"logspace", [](In in) { return logspace(-1, 2, 7, 10.0, in[0].options()); }},
    {"logspace/base", [](In in) { return logspace(0.5, 3, 4, 2, in[0].options().dtype(kInt64)); }},
    {"range", [](In in) { return range(0, 1, 0.1, in[0].options()); }},
    {"range/down", [](In in) { return range(3, -2, -2, in[0].options()); }},
    {"scalar_tensor", [](In in) { return scalar_tensor(3, in[0].options()); }},
    {"new_full",
     [](In in) {
       return in[0].new_full({2, 3}, 1.5);
     }},
    {"new_ones",
     [](In in) {
       return in[0].new_ones({2, 3});
     },
     {.integers = true}},
    {"new_zeros",
     [](In in) {
       return in[0].new_zeros({2, 3}, kBool);
     }},
    {"tril_indices", [](In in) { return tril_indices(4, 3, -1, TensorOptions(kInt64).device(in[0].device())); }},
    {"triu_indices", [](In in) { return triu_indices(3, 5, 1, TensorOptions(kInt32).device(in[0].device())); }},
};

}  // namespace
const Family kFactory{"factory", kFactoryCases};

}  // namespace tandem::test
