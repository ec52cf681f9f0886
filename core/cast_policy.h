// Cast policies: what mixed precision does with the floating operands of an operation before the operation sees them.
// Each operation's source names its policy beside the definitions. ci/files.py checks that every public one has a
// policy.
#pragma once

namespace tandem {

enum class CastPolicy {
  lower,    ///< cast to the lower precision: products, convolutions, attention
  float32,  ///< cast to float32, where a half type would lose too much: exponentials, norms, sums, losses
  promote,  ///< cast to the widest dtype among the operands, because these must agree
  none      ///< not cast
};
/// A policy as a type, so that a declaration of several operations needs no initializers.
template <CastPolicy policy> struct CastPolicyOf { CastPolicy value = policy; };

/// TANDEM_CAST_POLICY(lower, mm, bmm) declares cast_policy::mm and cast_policy::bmm. The policies follow
/// PyTorch's autocast lists for CUDA; for operations that are only in the CPU's lists, the CPU's.
#define TANDEM_CAST_POLICY(policy, ...)                          \
  namespace cast_policy {                                        \
  inline constexpr CastPolicyOf<CastPolicy::policy> __VA_ARGS__; \
  }                                                              \
  static_assert(true)  // takes the semicolon

}  // namespace tandem
