// Implements the printing of activation modules, and the activation modules that have parameters.
#include "tandem/nn/activation.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {
template class Cloneable<PReLUImpl>;

TANDEM_MODULE_TEXT(Sigmoid, "")
TANDEM_MODULE_TEXT(Tanh, "")
TANDEM_MODULE_TEXT(GELU, "approximate='" << options.approximate() << "'")
TANDEM_MODULE_TEXT(SiLU, "")
TANDEM_MODULE_TEXT(ReLU, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(LeakyReLU, "negative_slope=" << printed(options.negative_slope())
                                                << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(ELU, "alpha=" << printed(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(SELU, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(Mish, "")
TANDEM_MODULE_TEXT(ReLU6, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(Softsign, "")
TANDEM_MODULE_TEXT(Tanhshrink, "")
TANDEM_MODULE_TEXT(LogSigmoid, "")
TANDEM_MODULE_TEXT(CELU, "alpha=" << printed(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Hardshrink, printed(options.lambda()))
TANDEM_MODULE_TEXT(Softshrink, printed(options.lambda()))
TANDEM_CHECKED_MODULE_TEXT(Hardtanh,
                           TANDEM_CHECK(options.max_val() > options.min_val(),
                                        "Hardtanh: max_val must be greater than min_val, but got max_val ",
                                        options.max_val(), " and min_val ", options.min_val()),
                           "min_val=" << printed(options.min_val()) << ", max_val=" << printed(options.max_val())
                                      << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Hardswish, "")
TANDEM_MODULE_TEXT(Hardsigmoid, "")
TANDEM_MODULE_TEXT(RReLU, "lower=" << printed(options.lower()) << ", upper=" << printed(options.upper())
                                   << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Softplus, "beta=" << printed(options.beta()) << ", threshold=" << printed(options.threshold()))
TANDEM_MODULE_TEXT(GLU, "dim=" << options.dim())
TANDEM_MODULE_TEXT(Softmin, "dim=" << options.dim())
TANDEM_MODULE_TEXT(Threshold, "threshold=" << printed(options.threshold()) << ", value=" << printed(options.value())
                                           << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Softmax2d, "")
TANDEM_MODULE_TEXT(Softmax, "dim=" << options.dim())
TANDEM_MODULE_TEXT(LogSoftmax, "dim=" << options.dim())

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
