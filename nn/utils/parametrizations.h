// Weight norm and spectral norm: weights that are computed from other parameters before each forward. Names follow
// Python's torch.nn.utils.weight_norm and spectral_norm.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::detail {

/// Function that returns a tensor member of a module, such as `weight`.
using MemberTensorAccessor = std::function<Tensor&(nn::Module&)>;
/// Returns a function that accesses the member `name`. @throws Error unless `name` is "weight" or "bias" and M has this
/// member
template <class M> MemberTensorAccessor make_member_accessor(const char* op, const M& module, const std::string& name) {
  if constexpr (requires(M & m) { static_cast<Tensor&>(m.weight); })
    if (name == "weight") return [](nn::Module& m) -> Tensor& { return dynamic_cast<M&>(m).weight; };
  if constexpr (requires(M & m) { static_cast<Tensor&>(m.bias); })
    if (name == "bias") return [](nn::Module& m) -> Tensor& { return dynamic_cast<M&>(m).bias; };
  TANDEM_FAIL(op, ": ", module.name(), " has no member '", name,
              "'; accepted: 'weight' or 'bias', if the module has it");
}
void add_weight_norm(nn::Module& module, const std::string& name, std::optional<int64_t> dim,
                     const MemberTensorAccessor& member);
void add_spectral_norm(nn::Module& module, const std::string& name, int64_t n_power_iterations, double eps, int64_t dim,
                       const MemberTensorAccessor& member);
void remove_parametrization(const char* kind, nn::Module& module, const std::string& name);
/// Returns the dimension of a module's weight that corresponds to the output channels.
template <class M> int64_t output_channel_dim(const M& module) {
  if constexpr (requires { module.options.transposed(); })
    return module.options.transposed() ? 1 : 0;
  else
    return 0;
}

}  // namespace tandem::detail

namespace tandem::nn::utils {

/// Reparametrises `name` ("weight" or "bias") of a module as g * v / |v| (Salimans and Kingma 2016, arXiv:1602.07868).
/// Two parameters replace `name`: `name`_g, the length, and `name`_v, the direction, of each slice along `dim`, or of
/// the whole tensor if `dim` is nullopt. `name` is computed again whenever the module is called by its handle, `fc(x)`,
/// or by a Sequential, but not by `fc->forward(x)`. @return the module. @throws Error unless it has such a parameter
template <class Holder>
Holder weight_norm(Holder module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  detail::add_weight_norm(*module, name, dim, detail::make_member_accessor("weight_norm", *module, name));
  return module;
}
/// Makes `name` an ordinary parameter again, with its current value. @throws Error if it has no weight norm
template <class Holder> Holder remove_weight_norm(Holder module, const std::string& name = "weight") {
  detail::remove_parametrization("weight_norm", *module, name);
  return module;
}

/// Divides `name` of a module by its largest singular value (Miyato et al. 2018, arXiv:1802.05957). The parameter
/// `name`_orig replaces `name`. The singular value is that of the matrix whose rows are the slices of `name`_orig along
/// `dim`; the default of dim is 1 for transposed convolutions and 0 for other modules. It is estimated by power
/// iteration, with n_power_iterations steps at each call in training, from vectors in the buffers `name`_u and
/// `name`_v. As with weight_norm, `name` is computed again whenever the module is called by its handle or by a
/// Sequential.
/// @throws Error unless the module has such a parameter and n_power_iterations is positive
template <class Holder>
Holder spectral_norm(Holder module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                     double eps = 1e-12, std::optional<int64_t> dim = {}) {
  detail::add_spectral_norm(*module, name, n_power_iterations, eps, dim.value_or(detail::output_channel_dim(*module)),
                            detail::make_member_accessor("spectral_norm", *module, name));
  return module;
}
/// Makes `name` an ordinary parameter again, with its current value. @throws Error if it has no spectral norm
template <class Holder> Holder remove_spectral_norm(Holder module, const std::string& name = "weight") {
  detail::remove_parametrization("spectral_norm", *module, name);
  return module;
}

}  // namespace tandem::nn::utils
