// Op cases of activations and softmax.
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/nn/softmax.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

static constexpr OpCase kActivationCases[] = {
    {"relu/at_zero", [](In in) { return relu(in[0] - in[0].detach()); }, {.no_gradcheck = kKink}},
    {"leaky_relu", [](In in) { return leaky_relu(in[0], 0.1); }},
    {"elu", [](In in) { return elu(in[0]); }},
    {"elu/alpha", [](In in) { return elu(in[0], 1.5); }},
    {"tanh/large", [](In in) { return tanh(in[0]); }},
    {"softplus", [](In in) { return softplus(in[0]); }},
    {"softplus/beta", [](In in) { return softplus(in[0], 2.0, 3.0); }},
    {"softmax", [](In in) { return softmax(in[0], -1); }},
    {"softmax/middle", [](In in) { return softmax(in[0], 1); }},
    {"softmax/large", [](In in) { return softmax(in[0], 1); }},
    {"softmax/scalar", [](In in) { return softmax(in[0], 0); }},
    {"softmax/far", [](In in) { return softmax(in[0], 1); }},
    {"log_softmax", [](In in) { return log_softmax(in[0], -1); }},
    {"log_softmax/first", [](In in) { return log_softmax(in[0], 0); }},
    {"log_softmax/large", [](In in) { return log_softmax(in[0], 1); }},
    {"log_softmax/empty", [](In in) { return log_softmax(in[0], 1); }},
};
const Family kActivation{"activation", kActivationCases};

}  // namespace tandem::test
