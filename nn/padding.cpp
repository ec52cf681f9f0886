// Implements the printing of padding modules.
#include "tandem/nn/padding.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

#define TANDEM_DEFINE_PAD_PRETTY_PRINT(Name) TANDEM_DEFINE_PRETTY_PRINT(Name, IntArrayRef(options.padding()))
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReflectionPad1d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReflectionPad2d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReflectionPad3d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReplicationPad1d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReplicationPad2d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ReplicationPad3d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ZeroPad1d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ZeroPad2d)
TANDEM_DEFINE_PAD_PRETTY_PRINT(ZeroPad3d)
#define TANDEM_DEFINE_CONSTANT_PAD_PRETTY_PRINT(Name) \
  TANDEM_DEFINE_PRETTY_PRINT(                         \
      Name, "padding=" << IntArrayRef(options.padding()) << ", value=" << to_python_string(options.value()))
TANDEM_DEFINE_CONSTANT_PAD_PRETTY_PRINT(ConstantPad1d)
TANDEM_DEFINE_CONSTANT_PAD_PRETTY_PRINT(ConstantPad2d)
TANDEM_DEFINE_CONSTANT_PAD_PRETTY_PRINT(ConstantPad3d)

}  // namespace tandem::nn
