// Implements linear and bilinear layers, Identity, and layers that flatten or unflatten dimensions.
#include "tandem/nn/linear.h"

#include <cmath>

#include "tandem/nn/convolution.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {
template class Cloneable<LinearImpl>;
template class Cloneable<BilinearImpl>;

TANDEM_DEFINE_PRETTY_PRINT(Identity, "")
TANDEM_DEFINE_PRETTY_PRINT(Flatten, "start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim())
TANDEM_DEFINE_PRETTY_PRINT(Unflatten, "dim=" << options.dim() << ", unflattened_size=" << IntArrayRef(options.sizes()))

void LinearImpl::reset() {
  TANDEM_CHECK(options.in_features() >= 0 && options.out_features() >= 0, "Linear: in_features is ",
               options.in_features(), " and out_features ", options.out_features(), "; accepted: 0 or more");
  weight = register_parameter("weight", empty({options.out_features(), options.in_features()}));
  if (options.bias()) bias = register_parameter("bias", empty({options.out_features()}));
  reset_parameters();
}
void LinearImpl::reset_parameters() { reset_weight_and_bias(weight, bias); }
void LinearImpl::pretty_print(std::ostream& out) const {
  out << "Linear(in_features=" << options.in_features() << ", out_features=" << options.out_features()
      << ", bias=" << to_python_string(options.bias()) << ")";
}

void BilinearImpl::reset() {
  const BilinearOptions& o = options;
  TANDEM_CHECK(o.in1_features() > 0 && o.in2_features() > 0 && o.out_features() > 0, "Bilinear: in1_features is ",
               o.in1_features(), ", in2_features ", o.in2_features(), " and out_features ", o.out_features(),
               "; all must be positive");
  weight = register_parameter("weight", empty({o.out_features(), o.in1_features(), o.in2_features()}));
  if (o.bias()) bias = register_parameter("bias", empty({o.out_features()}));
  reset_parameters();
}
void BilinearImpl::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options.in1_features()));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}
void BilinearImpl::pretty_print(std::ostream& out) const {
  out << "Bilinear(in1_features=" << options.in1_features() << ", in2_features=" << options.in2_features()
      << ", out_features=" << options.out_features() << ", bias=" << to_python_string(options.bias()) << ")";
}

}  // namespace tandem::nn
