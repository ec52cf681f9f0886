// Functional: wraps a function of a tensor as a module.
#pragma once
#include <type_traits>

#include "tandem/nn/module.h"

namespace tandem::nn {

/// Wraps a function and its further arguments as a module: Functional(relu), Functional(log_softmax, 1).
class FunctionalImpl : public Cloneable<FunctionalImpl> {
 public:
  template <class Function, class... Args>
  requires(sizeof...(Args) > 0) FunctionalImpl(Function function, Args... args)
      : function_([=](const Tensor& x) -> Tensor {
          if constexpr (std::is_invocable_v<Function, const Tensor&, Args...>)
            return function(x, args...);
          else
            return function(x, args..., std::nullopt);  // softmax, for example, has an optional dtype as last parameter
        }) {}
  FunctionalImpl(std::function<Tensor(const Tensor&)> function) : function_(std::move(function)) {}
  void reset() override;
  /// Returns the function's result for x.
  Tensor forward(const Tensor& x) { return function_(x); }

 private:
  std::function<Tensor(const Tensor&)> function_;
};
TANDEM_LIBRARY_MODULE(Functional);

}  // namespace tandem::nn
