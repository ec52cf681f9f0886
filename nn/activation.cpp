// Implements the printing of activation modules, and the activation modules that have parameters.
#include "tandem/nn/activation.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {
template class Cloneable<PReLUImpl>;

TANDEM_DEFINE_PRETTY_PRINT(Sigmoid, "")
TANDEM_DEFINE_PRETTY_PRINT(Tanh, "")
TANDEM_DEFINE_PRETTY_PRINT(GELU, "approximate='" << options.approximate() << "'")
TANDEM_DEFINE_PRETTY_PRINT(SiLU, "")
TANDEM_DEFINE_PRETTY_PRINT(ReLU, (options.inplace() ? "inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(LeakyReLU, "negative_slope=" << to_python_string(options.negative_slope())
                                                        << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(ELU,
                           "alpha=" << to_python_string(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(SELU, (options.inplace() ? "inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Mish, "")
TANDEM_DEFINE_PRETTY_PRINT(ReLU6, (options.inplace() ? "inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Softsign, "")
TANDEM_DEFINE_PRETTY_PRINT(Tanhshrink, "")
TANDEM_DEFINE_PRETTY_PRINT(LogSigmoid, "")
TANDEM_DEFINE_PRETTY_PRINT(CELU,
                           "alpha=" << to_python_string(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Hardshrink, to_python_string(options.lambda()))
TANDEM_DEFINE_PRETTY_PRINT(Softshrink, to_python_string(options.lambda()))
TANDEM_DEFINE_CHECKED_PRETTY_PRINT(Hardtanh,
                                   TANDEM_CHECK(options.max_val() > options.min_val(),
                                                "Hardtanh: max_val must be greater than min_val, but got max_val ",
                                                options.max_val(), " and min_val ", options.min_val()),
                                   "min_val=" << to_python_string(options.min_val())
                                              << ", max_val=" << to_python_string(options.max_val())
                                              << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Hardswish, "")
TANDEM_DEFINE_PRETTY_PRINT(Hardsigmoid, "")
TANDEM_DEFINE_PRETTY_PRINT(RReLU, "lower=" << to_python_string(options.lower())
                                           << ", upper=" << to_python_string(options.upper())
                                           << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Softplus, "beta=" << to_python_string(options.beta())
                                             << ", threshold=" << to_python_string(options.threshold()))
TANDEM_DEFINE_PRETTY_PRINT(GLU, "dim=" << options.dim())
TANDEM_DEFINE_PRETTY_PRINT(Softmin, "dim=" << options.dim())
TANDEM_DEFINE_PRETTY_PRINT(Threshold, "threshold=" << to_python_string(options.threshold())
                                                   << ", value=" << to_python_string(options.value())
                                                   << (options.inplace() ? ", inplace=True" : ""))
TANDEM_DEFINE_PRETTY_PRINT(Softmax2d, "")
TANDEM_DEFINE_PRETTY_PRINT(Softmax, "dim=" << options.dim())
TANDEM_DEFINE_PRETTY_PRINT(LogSoftmax, "dim=" << options.dim())

Tensor Softmax2dImpl::forward(const Tensor& x) {
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4,
               "Softmax2d requires a 3D or 4D tensor as input: (C, H, W) or (N, C, H, W). Got ", x.sizes());
  return softmax(x, -3);
}
void PReLUImpl::reset() {
  TANDEM_CHECK(options.num_parameters() > 0, "PReLU: num_parameters is ", options.num_parameters(),
               "; accepted: 1, or the number of channels");
  weight = register_parameter("weight", full({options.num_parameters()}, options.init(), get_default_dtype()));
}
void PReLUImpl::pretty_print(std::ostream& out) const {
  out << "PReLU(num_parameters=" << options.num_parameters() << ")";
}

}  // namespace tandem::nn
