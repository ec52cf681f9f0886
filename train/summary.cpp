// Implements summary: hooks record outputs, and an observer counts the multiply-adds of kernels.
#include "tandem/train/summary.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <set>

#include "tandem/core/internal.h"
#include "tandem/core/trace/observer.h"
#include "tandem/train/evaluation_guard.h"

namespace tandem::train {
namespace {

/// Returns the multiply-adds of a kernel call; 0 for kernels other than products, convolutions and attention.
int64_t multiply_adds_of(const KernelCall& call) {
  const auto is = [&call](const char* op) { return std::strcmp(call.op, op) == 0; };
  if (is("matmul")) return call.writes[0]->numel() * call.reads[0]->size(-1);
  if (is("conv2d") || is("conv2d_backward_input")) {  // the latter is the forward of a transposed convolution
    const Tensor& of_each_filter = is("conv2d") ? *call.writes[0] : *call.reads[0];
    const Tensor& weight = *call.reads[1];
    return of_each_filter.numel() * (weight.numel() / std::max<int64_t>(weight.size(0), 1));
  }
  if (is("attention")) {
    const Tensor &q = *call.reads[0], &k = *call.reads[1], &v = *call.reads[2];
    return q.numel() * k.size(-2) + q.numel() / std::max<int64_t>(q.size(-1), 1) * v.size(-1) * k.size(-2);
  }
  return 0;
}

class MultiplyAddCounter final : public Observer {
 public:
  explicit MultiplyAddCounter(std::function<void(int64_t)> add) : add_(std::move(add)) {}
  void on_kernel_call(const KernelCall& call) override {
    add_(multiply_adds_of(call));
    pass_to_outer(call);
  }

 private:
  std::function<void(int64_t)> add_;
};

/// Formats 1234567 as "1,234,567".
std::string format_count(int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), 1, ',');
  return text;
}
std::string format_sizes(const std::vector<std::vector<int64_t>>& all) {
  std::ostringstream out;
  for (size_t i = 0; i < all.size(); ++i) out << (i > 0 ? " " : "") << IntArrayRef(all[i]);
  return out.str();
}

}  // namespace

struct detail::SummaryRecorder::State {
  explicit State(nn::Module& module)
      : evaluation(module, /*seed=*/0, /*rank=*/0),
        observer(std::make_shared<MultiplyAddCounter>([this](int64_t count) {
          for (const size_t row : std::set<size_t>(running.begin(), running.end()))
            summary.rows[row].multiply_adds += count;
        })) {}
  void add_row(const std::string& name, nn::Module& module);
  Summary summary;
  std::vector<size_t> running;  // rows of the modules that are being called, outermost first
  std::vector<nn::RemovableHandle> hooks;
  EvaluationGuard evaluation;
  ObserverGuard observer;
};

void detail::SummaryRecorder::State::add_row(const std::string& name, nn::Module& module) {
  SummaryRow row{name, module.name()};
  row.depth = name.empty() ? 0 : static_cast<int>(std::count(name.begin(), name.end(), '.')) + 1;
  for (const Tensor& p : module.parameters()) row.parameters += p.numel();
  const size_t index = summary.rows.size();
  summary.rows.push_back(row);
  hooks.push_back(module.register_forward_pre_hook(
      [this, index](nn::Module&, const std::vector<Tensor>&) { running.push_back(index); }));
  hooks.push_back(module.register_forward_hook(
      [this, index](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>& outputs) {
        running.pop_back();
        std::vector<std::vector<int64_t>>& sizes = summary.rows[index].output_sizes;
        if (!sizes.empty()) return;
        for (const Tensor& output : outputs)
          sizes.push_back(output.defined() ? output.sizes().vec() : std::vector<int64_t>());
      }));
}

detail::SummaryRecorder::SummaryRecorder(nn::Module& module) : state_(new State(module)) {
  module.apply([this](const std::string& name, nn::Module& each) { state_->add_row(name, each); });
  for (const Tensor& p : module.parameters()) {
    state_->summary.trainable_parameters += p.requires_grad() ? p.numel() : 0;
    state_->summary.parameter_bytes += static_cast<int64_t>(p.nbytes());
  }
}
detail::SummaryRecorder::~SummaryRecorder() {
  for (nn::RemovableHandle& hook : state_->hooks) hook.remove();
}
Summary detail::SummaryRecorder::finish() { return state_->summary; }

std::ostream& operator<<(std::ostream& out, const Summary& summary) {
  std::vector<std::array<std::string, 4>> lines = {{"module", "output", "parameters", "multiply-adds"}};
  for (const SummaryRow& row : summary.rows) {
    const std::string label = row.name.substr(row.name.rfind('.') == std::string::npos ? 0 : row.name.rfind('.') + 1);
    lines.push_back(
        {std::string(static_cast<size_t>(2 * row.depth), ' ') + (label.empty() ? row.type : label + ": " + row.type),
         format_sizes(row.output_sizes), format_count(row.parameters), format_count(row.multiply_adds)});
  }
  std::array<size_t, 4> widths{};
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  const auto pad = [](size_t width, const std::string& text) { return std::string(width - text.size(), ' '); };
  for (const auto& line : lines)
    out << line[0] << pad(widths[0], line[0]) << "  " << line[1] << pad(widths[1], line[1]) << "  "
        << pad(widths[2], line[2]) << line[2] << "  " << pad(widths[3], line[3]) << line[3] << "\n";
  if (summary.rows.empty()) return out;
  std::ostringstream mebibytes;
  mebibytes << std::fixed << std::setprecision(2) << static_cast<double>(summary.parameter_bytes) / (1 << 20);
  return out << format_count(summary.rows[0].parameters) << " parameters, "
             << format_count(summary.trainable_parameters) << " of them trainable, in " << mebibytes.str() << " MiB; "
             << format_count(summary.rows[0].multiply_adds) << " multiply-adds\n";
}

}  // namespace tandem::train
