// LibTorch's <torch/script.h> for programs without TorchScript. The names of TorchScript itself exist, and
// their use is an error of the compiler that says what to do instead.
#pragma once
#include <torch/torch.h>

namespace tandem::jit {

namespace detail {
template <class...> inline constexpr bool kIsTorchScriptPartOfTandem = false;
}  // namespace detail
/// A TorchScript module. Not part of Tandem: to construct one is an error.
struct Module {
  template <class... Args> explicit Module(Args&&...) {
    static_assert(detail::kIsTorchScriptPartOfTandem<Args...>,
                  "torch::jit::Module: TorchScript is not part of Tandem; write the module in C++, and load its "
                  "parameters with torch::load (docs/libtorch.md)");
  }
};
template <class... Args> Module load(Args&&... args) {
  static_assert(detail::kIsTorchScriptPartOfTandem<Args...>,
                "torch::jit::load: TorchScript is not part of Tandem; write the module in C++, and load its parameters "
                "with torch::load (docs/libtorch.md)");
  return Module(std::forward<Args>(args)...);
}
namespace script {
using jit::Module;
}  // namespace script

}  // namespace tandem::jit
namespace torch {
namespace jit = tandem::jit;
}  // namespace torch
