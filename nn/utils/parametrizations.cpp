// Implements weight norm and spectral norm: their parameters and buffers, and the computation of the weight.
#include "tandem/nn/utils/parametrizations.h"

#include <algorithm>

#include "tandem/nn/module/hook_lists.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

/// Returns the 2-norms of the slices along `dim`, in a shape that broadcasts with v; without `dim`, the norm of v.
Tensor norm_except_dim(const Tensor& v, std::optional<int64_t> dim) {
  if (!dim) return v.norm(2);
  std::vector<int64_t> others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != wrap_dim("weight_norm", *dim, v.dim())) others.push_back(d);
  return others.empty() ? v.abs() : v.norm(2, others, /*keepdim=*/true);
}
/// Returns a matrix whose rows are the slices along `dim`.
Tensor reshape_weight_to_matrix(const Tensor& weight, int64_t dim) { return weight.transpose(0, dim).flatten(1); }
Tensor normalize_vector(const Tensor& x, double eps) { return x / x.norm(2).clamp_min(eps); }

void add_parametrization(nn::Module& module, Parametrization parametrization) {
  for (const Parametrization& each : ModuleAccess::hooks(module).parametrizations)
    TANDEM_CHECK(each.name != parametrization.name, parametrization.kind, ": '", each.name, "' of ", module.name(),
                 " already has a ", each.kind, "; remove that one first");
  parametrization.install(module);
  parametrization.update(module);
  ModuleAccess::hooks(module).parametrizations.push_back(std::move(parametrization));
}

}  // namespace

void detail::add_weight_norm(nn::Module& module, const std::string& name, std::optional<int64_t> dim,
                             const MemberTensorAccessor& member) {
  const std::string g = name + "_g", v = name + "_v";
  const auto compute_weight = [=](nn::Module& m) {
    const Tensor& direction = ModuleAccess::parameter_or_buffer(m, v);
    return direction * (ModuleAccess::parameter_or_buffer(m, g) / norm_except_dim(direction, dim));
  };
  add_parametrization(module, {"weight_norm", name,
                               [=](nn::Module& m) {
                                 const Tensor weight = ModuleAccess::extract_parameter(m, "weight_norm", name);
                                 m.register_parameter(g, norm_except_dim(weight.detach(), dim));
                                 m.register_parameter(v, weight.detach());
                               },
                               [=](nn::Module& m) { member(m) = compute_weight(m); },
                               [=](nn::Module& m) {
                                 const Tensor weight = compute_weight(m).detach();
                                 ModuleAccess::extract_parameter(m, "weight_norm", g);
                                 ModuleAccess::extract_parameter(m, "weight_norm", v);
                                 member(m) = m.register_parameter(name, weight);
                               }});
}

void detail::add_spectral_norm(nn::Module& module, const std::string& name, int64_t n_power_iterations, double eps,
                               int64_t dim, const MemberTensorAccessor& member) {
  TANDEM_CHECK(
      n_power_iterations > 0,
      "spectral_norm: Expected n_power_iterations to be positive, but got n_power_iterations=", n_power_iterations);
  const std::string orig = name + "_orig", left = name + "_u", right = name + "_v";
  const auto compute_weight = [=](nn::Module& m, bool iterate) {
    const Tensor& weight = ModuleAccess::parameter_or_buffer(m, orig);
    const Tensor matrix = reshape_weight_to_matrix(weight, wrap_dim("spectral_norm", dim, weight.dim()));
    Tensor &u = ModuleAccess::parameter_or_buffer(m, left), &v = ModuleAccess::parameter_or_buffer(m, right);
    if (iterate) {
      const NoGradGuard guard;
      for (int64_t i = 0; i < n_power_iterations; ++i) {
        v.copy_(normalize_vector(matrix.t().mv(u), eps));
        u.copy_(normalize_vector(matrix.mv(v), eps));
      }
    }
    // Clones u and v, because another forward may change them before backward.
    return weight / u.clone().dot(matrix.mv(v.clone()));
  };
  add_parametrization(
      module, {"spectral_norm", name,
               [=](nn::Module& m) {
                 const Tensor weight = ModuleAccess::extract_parameter(m, "spectral_norm", name).detach();
                 const Tensor matrix = reshape_weight_to_matrix(weight, wrap_dim("spectral_norm", dim, weight.dim()));
                 m.register_parameter(orig, weight);
                 m.register_buffer(left, normalize_vector(randn({matrix.size(0)}, weight.options()), eps));
                 m.register_buffer(right, normalize_vector(randn({matrix.size(1)}, weight.options()), eps));
               },
               [=](nn::Module& m) { member(m) = compute_weight(m, m.is_training()); },
               [=](nn::Module& m) {
                 const Tensor weight = compute_weight(m, false).detach();
                 ModuleAccess::extract_parameter(m, "spectral_norm", orig);
                 ModuleAccess::erase_buffer(m, left);
                 ModuleAccess::erase_buffer(m, right);
                 member(m) = m.register_parameter(name, weight);
               }});
}

void detail::remove_parametrization(const char* kind, nn::Module& module, const std::string& name) {
  auto& all = ModuleAccess::hooks(module).parametrizations;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const Parametrization& each) { return each.kind == kind && each.name == name; });
  TANDEM_CHECK(at != all.end(), kind, " of '", name, "' not found in ", module.name());
  at->remove(module);
  all.erase(at);
}

}  // namespace tandem
