// Op cases of normalizations that are composed of other operations.
#include "tandem/ops/nn/batch_norm.h"
#include "tandem/ops/nn/group_norm.h"
#include "tandem/ops/nn/instance_norm.h"
#include "tandem/ops/nn/layer_norm.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {

/// Copies the running statistics, because instance_norm changes them.
static std::vector<Tensor> tracked_instances(In in) {
  const Tensor mean = in[1].clone(), var = in[2].clone();
  const Tensor y = instance_norm(in[0], {}, {}, mean, var, true, 0.3, 1e-5);
  return {y, mean, var};
}
static std::vector<Tensor> listed(const std::tuple<Tensor, Tensor, Tensor>& y) {
  return {std::get<0>(y), std::get<1>(y), std::get<2>(y)};
}
static constexpr const char* kWideStatistics = "gives its statistics in float32";
static constexpr const char* kSomeStatistics = "asks for statistics of something";
static constexpr OpCase kNormFormulaCases[] = {
    {"group_norm", [](In in) { return group_norm(in[0], 2, in[1], in[2]); }, {.no_empty = "weights keep their sizes"}},
    {"group_norm/plain", [](In in) { return group_norm(in[0], 4, {}, {}, 0.1); }},
    {"group_norm/rows", [](In in) { return group_norm(in[0], 1); }},
    {"instance_norm",
     [](In in) { return instance_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-5); },
     {.no_empty = kSomeStatistics}},
    {"instance_norm/tracked", [](In in) { return tracked_instances(in); }, {.no_empty = kSomeStatistics}},
    {"instance_norm/fixed",
     [](In in) { return instance_norm(in[0], {}, {}, in[1], in[2], false, 0.3, 1e-5); },
     {.no_empty = kSomeStatistics}},
    {"native_layer_norm",
     [](In in) {
       return listed(native_layer_norm(in[0], {3, 2}, in[1], in[2], 1e-2));
     },
     {.no_half = kWideStatistics, .no_empty = "weights keep their sizes"}},
    {"native_group_norm",
     [](In in) { return listed(native_group_norm(in[0], in[1], in[2], 2, 4, 6, 2, 1e-2)); },
     {.no_half = kWideStatistics, .no_empty = kSomeStatistics}},
    {"native_batch_norm",
     [](In in) { return listed(native_batch_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-2)); },
     {.no_half = kWideStatistics, .no_empty = kSomeStatistics}},
    {"rms_norm",
     [](In in) {
       return rms_norm(in[0], {3, 2}, in[1], 1e-2);
     },
     {.no_empty = "weights keep their sizes"}},
    {"rms_norm/plain", [](In in) { return rms_norm(in[0], {2}); }, {.no_half = "its eps is that of the dtype"}},
};
const Family kNormFormula{"norm_formula", kNormFormulaCases};

}  // namespace tandem::test
