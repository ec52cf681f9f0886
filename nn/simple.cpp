#include "tandem/nn/simple.h"

#include "tandem/nn/print.h"

namespace tandem::nn {

// `text`: the options as the module prints them.
#define TANDEM_MODULE_TEXT(Name, text)  \
  template class Cloneable<Name##Impl>; \
  void Name##Impl::reset() {}           \
  void Name##Impl::pretty_print(std::ostream& out) const { out << #Name "(" << text << ")"; /* NOLINT: a list of << */ }

TANDEM_MODULE_TEXT(Sigmoid, "")
TANDEM_MODULE_TEXT(Tanh, "")
TANDEM_MODULE_TEXT(GELU, "approximate='none'")
TANDEM_MODULE_TEXT(SiLU, "")
TANDEM_MODULE_TEXT(Identity, "")
TANDEM_MODULE_TEXT(ReLU, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(LeakyReLU, "negative_slope=" << printed(options.negative_slope()))
TANDEM_MODULE_TEXT(ELU, "alpha=" << printed(options.alpha()))
TANDEM_MODULE_TEXT(Softmax, "dim=" << options.dim())
TANDEM_MODULE_TEXT(LogSoftmax, "dim=" << options.dim())
TANDEM_MODULE_TEXT(MaxPool2d, "kernel_size=" << printed(options.kernel_size()) << ", stride="
                                             << printed(options.stride()) << ", padding=" << printed(options.padding())
                                             << ", dilation=" << printed(options.dilation())
                                             << ", ceil_mode=" << printed(options.ceil_mode()))
TANDEM_MODULE_TEXT(AvgPool2d, "kernel_size=" << printed(options.kernel_size()) << ", stride="
                                             << printed(options.stride()) << ", padding=" << printed(options.padding()))
TANDEM_MODULE_TEXT(AdaptiveAvgPool2d, "output_size=" << printed(options.output_size()))
TANDEM_MODULE_TEXT(Flatten, "start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim())
TANDEM_MODULE_TEXT(Dropout, "p=" << printed(options.p()) << ", inplace=False")
TANDEM_MODULE_TEXT(Dropout2d, "p=" << printed(options.p()) << ", inplace=False")
TANDEM_MODULE_TEXT(CrossEntropyLoss, "")
TANDEM_MODULE_TEXT(NLLLoss, "")
TANDEM_MODULE_TEXT(MSELoss, "")
TANDEM_MODULE_TEXT(L1Loss, "")
TANDEM_MODULE_TEXT(SmoothL1Loss, "")
TANDEM_MODULE_TEXT(BCELoss, "")
TANDEM_MODULE_TEXT(BCEWithLogitsLoss, "")
template class Cloneable<FunctionalImpl>;
void FunctionalImpl::reset() {}

}  // namespace tandem::nn
