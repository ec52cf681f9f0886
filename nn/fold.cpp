// Implements the printing of Fold and Unfold, the modules for patches of images.
#include "tandem/nn/fold.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

TANDEM_DEFINE_PRETTY_PRINT(Unfold, "kernel_size=" << to_python_string(options.kernel_size())
                                                  << ", dilation=" << to_python_string(options.dilation())
                                                  << ", padding=" << to_python_string(options.padding())
                                                  << ", stride=" << to_python_string(options.stride()))
TANDEM_DEFINE_PRETTY_PRINT(Fold, "output_size=" << to_python_string(options.output_size())
                                                << ", kernel_size=" << to_python_string(options.kernel_size())
                                                << ", dilation=" << to_python_string(options.dilation())
                                                << ", padding=" << to_python_string(options.padding())
                                                << ", stride=" << to_python_string(options.stride()))

}  // namespace tandem::nn
