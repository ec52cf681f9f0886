// Weights that are made of other parameters before each forward: weight norm and spectral norm. Python's
// torch::nn::utils::weight_norm and spectral_norm.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::detail {

/// The tensor of that name that a module keeps as a member.
using MemberTensor = std::function<Tensor&(nn::Module&)>;
/// @throws Error unless it is "weight" or "bias", and the module has such a member
template <class M> MemberTensor member_tensor(const char* op, const M& module, const std::string& name) {
  if constexpr (requires(M & m) { static_cast<Tensor&>(m.weight); })
    if (name == "weight") return [](nn::Module& m) -> Tensor& { return dynamic_cast<M&>(m).weight; };
  if constexpr (requires(M & m) { static_cast<Tensor&>(m.bias); })
    if (name == "bias") return [](nn::Module& m) -> Tensor& { return dynamic_cast<M&>(m).bias; };
  TANDEM_FAIL(op, ": ", module.name(), " has no member '", name, "'; accepted: 'weight' or 'bias', where it has these");
}
void add_weight_norm(nn::Module& module, const std::string& name, std::optional<int64_t> dim,
                     const MemberTensor& member);
void add_spectral_norm(nn::Module& module, const std::string& name, int64_t n_power_iterations, double eps, int64_t dim,
                       const MemberTensor& member);
void remove_parametrization(const char* kind, nn::Module& module, const std::string& name);
/// The dimension of a module's weight that counts its outputs.
template <class M> int64_t output_dimension(const M& module) {
  if constexpr (requires { module.options.transposed(); })
    return module.options.transposed() ? 1 : 0;
  else
    return 0;
}

}  // namespace tandem::detail

namespace tandem::nn::utils {

/// Makes `name` ("weight" or "bias") of a module g v / |v|: the parameters `name`_g and `name`_v take its place, the
/// length and the direction of each slice along `dim`, or of the whole with nullopt (Salimans and Kingma 2016,
/// arXiv:1602.07868). It is made anew where the module is called by its handle, `fc(x)`, or by a Sequential, and not by
/// `fc->forward(x)`. @return  the module. @throws Error unless it has such a parameter
template <class Holder>
Holder weight_norm(Holder module, const std::string& name = "weight", std::optional<int64_t> dim = 0) {
  detail::add_weight_norm(*module, name, dim, detail::member_tensor("weight_norm", *module, name));
  return module;
}
/// Makes it one parameter again, with the value that it has. @throws Error when it has no weight norm
template <class Holder> Holder remove_weight_norm(Holder module, const std::string& name = "weight") {
  detail::remove_parametrization("weight_norm", *module, name);
  return module;
}

/// Divides `name` of a module by its largest singular value, as a matrix of which `dim` counts the rows (Miyato et al.
/// 2018, arXiv:1802.05957): the parameter `name`_orig takes its place. The value is estimated by power iteration from
/// the buffers `name`_u and `name`_v, `n_power_iterations` steps of it at each call in training. By default dim is 1
/// for transposed convolutions, 0 for others. When it is made anew: as weight_norm.
/// @throws Error unless the module has such a parameter and n_power_iterations is positive
template <class Holder>
Holder spectral_norm(Holder module, const std::string& name = "weight", int64_t n_power_iterations = 1,
                     double eps = 1e-12, std::optional<int64_t> dim = {}) {
  detail::add_spectral_norm(*module, name, n_power_iterations, eps, dim.value_or(detail::output_dimension(*module)),
                            detail::member_tensor("spectral_norm", *module, name));
  return module;
}
/// Makes it one parameter again, with the value that it has. @throws Error when it has no spectral norm
template <class Holder> Holder remove_spectral_norm(Holder module, const std::string& name = "weight") {
  detail::remove_parametrization("spectral_norm", *module, name);
  return module;
}

}  // namespace tandem::nn::utils
