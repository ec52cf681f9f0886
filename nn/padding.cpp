// Implements the printing of padding modules.
#include "tandem/nn/padding.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

#define TANDEM_PAD_TEXT(Name) TANDEM_MODULE_TEXT(Name, IntArrayRef(options.padding()))
TANDEM_PAD_TEXT(ReflectionPad1d)
TANDEM_PAD_TEXT(ReflectionPad2d)
TANDEM_PAD_TEXT(ReflectionPad3d)
TANDEM_PAD_TEXT(ReplicationPad1d)
TANDEM_PAD_TEXT(ReplicationPad2d)
TANDEM_PAD_TEXT(ReplicationPad3d)
TANDEM_PAD_TEXT(ZeroPad1d)
TANDEM_PAD_TEXT(ZeroPad2d)
TANDEM_PAD_TEXT(ZeroPad3d)
#define TANDEM_CONSTANT_PAD_TEXT(Name) \
  TANDEM_MODULE_TEXT(Name, "padding=" << IntArrayRef(options.padding()) << ", value=" << printed(options.value()))
TANDEM_CONSTANT_PAD_TEXT(ConstantPad1d)
TANDEM_CONSTANT_PAD_TEXT(ConstantPad2d)
TANDEM_CONSTANT_PAD_TEXT(ConstantPad3d)

}  // namespace tandem::nn
