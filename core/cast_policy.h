// Cast policies: what mixed precision does with the floating operands of an operation before the operation sees them.
// The source file of each operation declares its policy, and the operation acts on it by Autocast (ops/autocast.h).
// ci/files.py checks that every public operation has one.
#pragma once

namespace tandem {

enum class CastPolicy {
  lower,    ///< cast to the lower precision: products, convolutions, attention
  float32,  ///< cast to float32, where a half type would lose too much: exponentials, norms, sums, losses
  promote,  ///< cast to the widest dtype among the operands, because these must agree
  none      ///< not cast
};
/// Type whose default value is `policy`, so that TANDEM_CAST_POLICY can declare several operations without
/// initializers.
template <CastPolicy policy> struct CastPolicyConstant { CastPolicy value = policy; };

/// TANDEM_CAST_POLICY(lower, mm, bmm) declares cast_policy::mm and cast_policy::bmm. The policies follow PyTorch's
/// autocast lists for CUDA. If an operation is only in PyTorch's lists for the CPU, its policy follows the CPU lists.
#define TANDEM_CAST_POLICY(policy, ...)                                \
  namespace cast_policy {                                              \
  inline constexpr CastPolicyConstant<CastPolicy::policy> __VA_ARGS__; \
  }                                                                    \
  static_assert(true)  // takes the semicolon

}  // namespace tandem
