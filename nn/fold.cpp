// Implements the printing of Fold and Unfold, the modules for patches of images.
#include "tandem/nn/fold.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

TANDEM_MODULE_TEXT(Unfold, "kernel_size=" << printed(options.kernel_size()) << ", dilation="
                                          << printed(options.dilation()) << ", padding=" << printed(options.padding())
                                          << ", stride=" << printed(options.stride()))
TANDEM_MODULE_TEXT(Fold, "output_size=" << printed(options.output_size())
                                        << ", kernel_size=" << printed(options.kernel_size()) << ", dilation="
                                        << printed(options.dilation()) << ", padding=" << printed(options.padding())
                                        << ", stride=" << printed(options.stride()))

}  // namespace tandem::nn
