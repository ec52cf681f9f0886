// Implements recurrent networks and cells: parameters, checks, loops over layers and directions, and the arithmetic of
// a step.
#include "tandem/nn/rnn.h"

#include <algorithm>
#include <cmath>

#include "tandem/nn/module/print.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/autocast.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
namespace {

/// Converts the nonlinearity of an RNN or RNNCell to a mode. @throws Error that names the module, unless it is tanh or
/// relu
RNNMode to_rnn_mode(const char* module, nn::init::Nonlinearity nonlinearity) {
  const bool relu = nonlinearity == nn::init::Nonlinearity::relu;
  TANDEM_CHECK(relu || nonlinearity == nn::init::Nonlinearity::tanh, module,
               ": Unknown nonlinearity; accepted: kTanh and kReLU");
  return relu ? RNNMode::rnn_relu : RNNMode::rnn_tanh;
}
/// Returns the number of matrices stacked in weight_ih.
int64_t num_gates(RNNMode mode) { return mode == RNNMode::lstm ? 4 : mode == RNNMode::gru ? 3 : 1; }

/// Parameters of one direction of one layer. Biases and the projection `w_hr` may be undefined.
struct CellParams {
  Tensor w_ih, w_hh, bias_ih, bias_hh, w_hr;
};
/// Returns the contribution of the inputs (any number of rows) to the gates, including bias_ih and, except for a GRU,
/// bias_hh.
Tensor compute_input_gates(RNNMode mode, const Tensor& x, const CellParams& w) {
  // A GRU multiplies bias_hh by the gate r, so run_cell() adds it.
  const bool joined = w.bias_ih.defined() && mode != RNNMode::gru;
  return linear(x, w.w_ih, joined ? w.bias_ih + w.bias_hh : w.bias_ih);
}

/// Computes one step and returns the new states. gates: the result of compute_input_gates() for the rows of this step.
/// states: the previous states, (B, hidden) each.
States run_cell(RNNMode mode, const Tensor& gates, const States& states, const CellParams& w) {
  const Tensor& h = states[0];
  const Tensor from_states = linear(h, w.w_hh, mode == RNNMode::gru ? w.bias_hh : Tensor());
  switch (mode) {
    case RNNMode::rnn_tanh: return {(gates + from_states).tanh()};
    case RNNMode::rnn_relu: return {(gates + from_states).relu()};
    case RNNMode::gru: {
      const int64_t hidden = h.size(1);
      const std::vector<Tensor> x = gates.split({2 * hidden, hidden}, 1),
                                u = from_states.split({2 * hidden, hidden}, 1);
      const std::vector<Tensor> rz = (x[0] + u[0]).sigmoid().chunk(2, 1);
      const Tensor n = (x[1] + rz[0] * u[1]).tanh();
      return {n + rz[1] * (h - n)};
    }
    case RNNMode::lstm: break;
  }
  const std::vector<Tensor> ifgo = (gates + from_states).chunk(4, 1);
  const Tensor c = ifgo[1].sigmoid() * states[1] + ifgo[0].sigmoid() * ifgo[2].tanh();
  const Tensor next = ifgo[3].sigmoid() * c.tanh();
  return {w.w_hr.defined() ? linear(next, w.w_hr) : next, c};
}

/// Runs all steps. x (rows, inputs) holds batch_sizes[t] rows for each step t, one step after the other. Returns
/// (outputs (rows, hidden), states after each sequence's last step). `reverse`: runs from the last step to the first.
std::pair<Tensor, States> run_time_steps(RNNMode mode, const Tensor& x, const std::vector<int64_t>& batch_sizes,
                                         States states, const CellParams& w, bool reverse) {
  const std::vector<Tensor> gates = compute_input_gates(mode, x, w).split(batch_sizes, 0);
  const size_t steps = gates.size(), count = states.size();
  std::vector<Tensor> outputs(steps);
  // Starts with the longest sequences. Each shorter sequence joins, with its initial state, at its own last step.
  if (reverse) {
    const States first = states;
    for (Tensor& s : states) s = s.narrow(0, 0, batch_sizes.back());
    for (size_t t = steps; t-- > 0;) {
      const int64_t running = states[0].size(0), joining = batch_sizes[t] - running;
      if (joining > 0)
        for (size_t s = 0; s < count; ++s) states[s] = cat({states[s], first[s].narrow(0, running, joining)});
      states = run_cell(mode, gates[t], states, w);
      outputs[t] = states[0];
    }
    return {cat(outputs), states};
  }
  // For each state (h, c): the rows of the sequences that have ended, shortest sequences first.
  std::vector<States> finished(count);
  for (size_t t = 0; t < steps; ++t) {
    const int64_t running = states[0].size(0), ending = running - batch_sizes[t];
    if (ending > 0)
      for (size_t s = 0; s < count; ++s) {
        const std::vector<Tensor> parts = states[s].split({batch_sizes[t], ending}, 0);
        states[s] = parts[0];
        finished[s].push_back(parts[1]);
      }
    states = run_cell(mode, gates[t], states, w);
    outputs[t] = states[0];
  }
  for (size_t s = 0; s < count; ++s) {
    finished[s].push_back(states[s]);
    std::reverse(finished[s].begin(), finished[s].end());
    if (finished[s].size() > 1) states[s] = cat(finished[s]);
  }
  return {cat(outputs), states};
}

const char* mode_name(RNNMode mode) { return mode == RNNMode::lstm ? "LSTM" : mode == RNNMode::gru ? "GRU" : "RNN"; }
/// num_states: number of states of a network: h and c for an LSTM, h for others. num_state_features: number of features
/// of state s.
size_t num_states(RNNMode mode) { return mode == RNNMode::lstm ? 2 : 1; }
int64_t num_state_features(const RNNOptionsBase& o, size_t s) {
  return s == 0 && o.proj_size() > 0 ? o.proj_size() : o.hidden_size();
}
int64_t num_directions(const RNNOptionsBase& o) { return o.bidirectional() ? 2 : 1; }

/// Runs x (rows, features) through all layers. States are (layers * directions, B, features), zeros if not given.
std::pair<Tensor, States> run_layers(const RNNOptionsBase& o, const std::vector<Tensor>& parameters, bool training,
                                     Tensor x, const std::vector<int64_t>& batch_sizes, const States& given) {
  const int64_t directions = num_directions(o), cells = o.num_layers() * directions;
  const size_t states = num_states(o.mode());
  std::vector<std::vector<Tensor>> first(states), last(states);
  for (size_t s = 0; s < states; ++s)
    first[s] = given.empty() ? std::vector<Tensor>(static_cast<size_t>(cells),
                                                   zeros({batch_sizes[0], num_state_features(o, s)}, x.options()))
                             : given[s].unbind(0);
  auto next = parameters.begin();
  for (int64_t layer = 0; layer < o.num_layers(); ++layer) {
    std::vector<Tensor> outputs;
    for (int64_t direction = 0; direction < directions; ++direction) {
      CellParams w{next[0], next[1], {}, {}, {}};
      next += 2;
      if (o.bias()) w.bias_ih = next[0], w.bias_hh = next[1], next += 2;
      if (o.proj_size() > 0) w.w_hr = *next++;
      States own;
      for (size_t s = 0; s < states; ++s) own.push_back(first[s][static_cast<size_t>(layer * directions + direction)]);
      auto [output, ended] = run_time_steps(o.mode(), x, batch_sizes, own, w, /*reverse=*/direction == 1);
      outputs.push_back(output);
      for (size_t s = 0; s < states; ++s) last[s].push_back(ended[s]);
    }
    x = directions == 1 ? outputs[0] : cat(outputs, 1);
    if (layer + 1 < o.num_layers()) x = dropout(x, o.dropout(), training);
  }
  States ended;
  for (const std::vector<Tensor>& each : last) ended.push_back(stack(each));
  return {x, ended};
}

/// @throws Error unless each state is (layers * directions, B, features) with the input's dtype and device
void check_states(const RNNOptionsBase& o, const Tensor& input, const States& states, int64_t batch) {
  const int64_t cells = o.num_layers() * num_directions(o);
  for (size_t s = 0; s < states.size(); ++s) {
    const Shape expected{cells, batch, num_state_features(o, s)};
    TANDEM_CHECK(states[s].sizes() == expected, mode_name(o.mode()), ": Expected hidden",
                 states.size() == 1 ? ""
                 : s == 0           ? "[0]"
                                    : "[1]",
                 " size ", IntArrayRef(expected), ", got ", states[s].sizes(),
                 "; a state is (num_layers * directions, batch, features)");
    check_same_dtype_and_device(mode_name(o.mode()), "input", input, "hx", states[s]);
  }
}
/// @throws Error unless each state has as many dimensions as the input
void check_state_dims(const RNNOptionsBase& o, const Tensor& input, const States& states) {
  const char* const given = input.dim() == 3 ? ": For batched " : ": For unbatched ";
  if (states.size() == 2) {
    TANDEM_CHECK(states[0].dim() == input.dim() && states[1].dim() == input.dim(), mode_name(o.mode()), given,
                 input.dim(), "-D input, hx and cx should also be ", input.dim(), "-D but got (", states[0].dim(),
                 "-D, ", states[1].dim(), "-D) tensors");
  } else {
    for (const Tensor& state : states)
      TANDEM_CHECK(state.dim() == input.dim(), mode_name(o.mode()), given, input.dim(), "-D input, hx should also be ",
                   input.dim(), "-D but got ", state.dim(), "-D tensor");
  }
}
void check_input(const RNNOptionsBase& o, const Tensor& input, const Tensor& weight) {
  TANDEM_CHECK(input.size(-1) == o.input_size(), mode_name(o.mode()),
               ": input.size(-1) must be equal to input_size. Expected ", o.input_size(), ", got ", input.size(-1),
               "; input is ", input.sizes());
  check_same_dtype_and_device(mode_name(o.mode()), "input", input, "the weight", weight);
}

}  // namespace

template <class Derived> void RNNImplBase<Derived>::reset() {
  const RNNOptionsBase& o = options_base;
  const char* const name = mode_name(o.mode());
  TANDEM_CHECK(o.input_size() > 0, name, ": input_size must be greater than zero, got ", o.input_size());
  TANDEM_CHECK(o.hidden_size() > 0, name, ": hidden_size must be greater than zero, got ", o.hidden_size());
  TANDEM_CHECK(o.num_layers() > 0, name, ": num_layers must be greater than zero, got ", o.num_layers());
  TANDEM_CHECK(
      o.dropout() >= 0 && o.dropout() <= 1, name,
      ": dropout should be a number in range [0, 1] representing the probability of an element being zeroed, got ",
      o.dropout());
  TANDEM_CHECK(o.proj_size() >= 0 && o.proj_size() < o.hidden_size(), name,
               ": proj_size has to be a positive integer, smaller than hidden_size or zero to disable projections; got "
               "proj_size ",
               o.proj_size(), " and hidden_size ", o.hidden_size());
  parameter_names_.clear();
  const auto add = [&](std::string parameter, IntArrayRef sizes) {
    parameter_names_.push_back(parameter);
    this->register_parameter(std::move(parameter), empty(sizes));
  };
  const int64_t rows = num_gates(o.mode()) * o.hidden_size(), outputs = num_state_features(o, 0);
  for (int64_t layer = 0; layer < o.num_layers(); ++layer)
    for (int64_t direction = 0; direction < num_directions(o); ++direction) {
      const std::string at = std::to_string(layer).insert(0, "_l") + (direction == 1 ? "_reverse" : "");
      add("weight_ih" + at, {rows, layer == 0 ? o.input_size() : outputs * num_directions(o)});
      add("weight_hh" + at, {rows, outputs});
      if (o.bias()) add("bias_ih" + at, {rows}), add("bias_hh" + at, {rows});
      if (o.proj_size() > 0) add("weight_hr" + at, {o.proj_size(), o.hidden_size()});
    }
  reset_parameters();
}
template <class Derived> void RNNImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : all_weights()) nn::init::uniform_(weight, -bound, bound);
}
template <class Derived> std::vector<Tensor> RNNImplBase<Derived>::all_weights() const {
  std::vector<Tensor> out;
  for (const std::string& name : parameter_names_) out.push_back(this->parameters_[name]);
  return out;
}
template <class Derived> void RNNImplBase<Derived>::pretty_print(std::ostream& out) const {
  const RNNOptionsBase& o = options_base;
  out << mode_name(o.mode()) << '(' << o.input_size() << ", " << o.hidden_size();
  if (o.proj_size() != 0) out << ", proj_size=" << o.proj_size();
  if (o.num_layers() != 1) out << ", num_layers=" << o.num_layers();
  if (!o.bias()) out << ", bias=False";
  if (o.batch_first()) out << ", batch_first=True";
  if (o.dropout() != 0) out << ", dropout=" << nn::to_python_string(o.dropout());
  if (o.bidirectional()) out << ", bidirectional=True";
  out << ')';
}

template <class Derived>
std::pair<Tensor, States> RNNImplBase<Derived>::forward_helper(const Tensor& x, States states) const {
  const RNNOptionsBase& o = options_base;
  const Autocast cast(CastPolicy::lower, x);
  const Tensor given = cast(x);
  states = cast(states);
  const bool batched = given.dim() == 3;
  TANDEM_CHECK(batched || given.dim() == 2, mode_name(o.mode()), ": Expected input to be 2D or 3D, got ", given.dim(),
               "D instead; accepted: ", o.batch_first() ? "(B, T, input_size)" : "(T, B, input_size)",
               ", or (T, input_size) for one sequence");
  const std::vector<Tensor> weights = cast(all_weights());
  check_input(o, given, weights[0]);
  const Tensor input = !batched ? given.unsqueeze(1) : o.batch_first() ? given.transpose(0, 1) : given;
  const int64_t steps = input.size(0), batch = input.size(1);
  TANDEM_CHECK(steps > 0, mode_name(o.mode()), ": Expected sequence length to be larger than 0 in RNN; input is ",
               given.sizes());
  check_state_dims(o, given, states);
  if (!batched)
    for (Tensor& state : states) state = state.unsqueeze(1);
  check_states(o, input, states, batch);
  auto [output, ended] = run_layers(o, weights, this->is_training(), input.reshape({steps * batch, input.size(2)}),
                                    std::vector<int64_t>(static_cast<size_t>(steps), batch), states);
  output = output.view({steps, batch, output.size(1)});
  if (!batched)
    for (Tensor& state : ended) state = state.squeeze(1);
  return {!batched ? output.squeeze(1) : o.batch_first() ? output.transpose(0, 1) : output, ended};
}

template <class Derived>
std::pair<nn::utils::rnn::PackedSequence, States> RNNImplBase<Derived>::forward_helper(
    const nn::utils::rnn::PackedSequence& packed, States states) const {
  const RNNOptionsBase& o = options_base;
  const Autocast cast(CastPolicy::lower, packed.data());
  const Tensor data = cast(packed.data());
  states = cast(states);
  TANDEM_CHECK(data.dim() == 2, mode_name(o.mode()), ": input must have 2 dimensions, got ", data.dim(),
               "; packed data is (rows, input_size)");
  const std::vector<Tensor> weights = cast(all_weights());
  check_input(o, data, weights[0]);
  const Tensor sizes = packed.batch_sizes().contiguous();
  const std::vector<int64_t> batch_sizes(sizes.data<int64_t>(), sizes.data<int64_t>() + sizes.numel());
  TANDEM_CHECK(!batch_sizes.empty(), mode_name(o.mode()),
               ": the packed sequence is empty; it must hold at least one step");
  check_states(o, data, states, batch_sizes[0]);
  if (packed.sorted_indices().defined())
    for (Tensor& state : states) state = state.index_select(1, packed.sorted_indices());
  auto [output, ended] = run_layers(o, weights, this->is_training(), data, batch_sizes, states);
  if (packed.unsorted_indices().defined())
    for (Tensor& state : ended) state = state.index_select(1, packed.unsorted_indices());
  return {
      nn::utils::rnn::PackedSequence(output, packed.batch_sizes(), packed.sorted_indices(), packed.unsorted_indices()),
      ended};
}

namespace {
template <class Options> RNNOptionsBase make_base_options(RNNMode mode, const Options& o) {
  return RNNOptionsBase(mode, o.input_size(), o.hidden_size())
      .num_layers(o.num_layers())
      .bias(o.bias())
      .batch_first(o.batch_first())
      .dropout(o.dropout())
      .bidirectional(o.bidirectional());
}
States to_states(const std::optional<std::tuple<Tensor, Tensor>>& hx) {
  return hx ? States{std::get<0>(*hx), std::get<1>(*hx)} : States{};
}
}  // namespace
template <class Derived> void RNNCellImplBase<Derived>::reset() {
  const RNNCellOptionsBase& o = options_base;
  const char* const name = o.num_chunks() == 1 ? "RNNCell" : o.num_chunks() == 3 ? "GRUCell" : "LSTMCell";
  TANDEM_CHECK(o.input_size() > 0, name, ": input_size must be greater than zero, got ", o.input_size());
  TANDEM_CHECK(o.hidden_size() > 0, name, ": hidden_size must be greater than zero, got ", o.hidden_size());
  const int64_t rows = o.num_chunks() * o.hidden_size();
  weight_ih = this->register_parameter("weight_ih", empty({rows, o.input_size()}));
  weight_hh = this->register_parameter("weight_hh", empty({rows, o.hidden_size()}));
  if (o.bias()) {
    bias_ih = this->register_parameter("bias_ih", empty({rows}));
    bias_hh = this->register_parameter("bias_hh", empty({rows}));
  }
  reset_parameters();
}
template <class Derived> void RNNCellImplBase<Derived>::reset_parameters() {
  const double bound = 1 / std::sqrt(static_cast<double>(options_base.hidden_size()));
  for (const Tensor& weight : this->parameters()) nn::init::uniform_(weight, -bound, bound);
}
template <class Derived> void RNNCellImplBase<Derived>::pretty_print(std::ostream& out) const {
  out << this->name() << '(' << options_base.input_size() << ", " << options_base.hidden_size()
      << (options_base.bias() ? "" : ", bias=False") << get_nonlinearity_str() << ')';
}
template <class Derived> States RNNCellImplBase<Derived>::run_cell(RNNMode mode, const Tensor& x, States states) const {
  const RNNCellOptionsBase& o = options_base;
  const Autocast cast(CastPolicy::lower, x);
  const Tensor given = cast(x);
  states = cast(states);
  const bool batched = given.dim() == 2;
  TANDEM_CHECK(batched || given.dim() == 1, this->name(), ": Expected input to be 1D or 2D, got ", given.dim(),
               "D instead; input is ", given.sizes());
  TANDEM_CHECK(given.size(-1) == o.input_size(), this->name(), ": input has inconsistent input_size: got ",
               given.size(-1), " expected ", o.input_size(), "; input is ", given.sizes());
  const Tensor input = batched ? given : given.unsqueeze(0);
  const Shape expected{input.size(0), o.hidden_size()};
  if (states.empty()) states.assign(mode == RNNMode::lstm ? 2 : 1, zeros(expected, input.options()));
  for (size_t s = 0; s < states.size(); ++s) {
    Tensor& state = states[s];
    const char* const label = states.size() == 1 ? "hidden" : s == 0 ? "hidden[0]" : "hidden[1]";
    TANDEM_CHECK(state.dim() == given.dim() || state.sizes() == expected, this->name(), ": Expected ", label, " to be ",
                 given.dim(), "D, got ", state.dim(), "D instead; input is ", given.sizes(), " and hx ", state.sizes());
    if (state.dim() == 1) state = state.unsqueeze(0);
    TANDEM_CHECK(state.size(0) == expected[0], this->name(), ": Input batch size ", expected[0], " doesn't match ",
                 label, " batch size ", state.size(0));
    TANDEM_CHECK(state.size(1) == expected[1], this->name(), ": ", label, " has inconsistent hidden_size: got ",
                 state.size(1), ", expected ", expected[1]);
  }
  const CellParams w{cast(weight_ih), cast(weight_hh), cast(bias_ih), cast(bias_hh), {}};
  States next = detail::run_cell(mode, compute_input_gates(mode, input, w), states, w);
  if (!batched)
    for (Tensor& state : next) state = state.squeeze(0);
  return next;
}

template class RNNImplBase<nn::RNNImpl>;
template class RNNImplBase<nn::LSTMImpl>;
template class RNNImplBase<nn::GRUImpl>;
template class RNNCellImplBase<nn::RNNCellImpl>;
template class RNNCellImplBase<nn::LSTMCellImpl>;
template class RNNCellImplBase<nn::GRUCellImpl>;

}  // namespace tandem::detail

namespace tandem::nn {

template class Cloneable<RNNImpl>;
template class Cloneable<LSTMImpl>;
template class Cloneable<GRUImpl>;
template class Cloneable<RNNCellImpl>;
template class Cloneable<LSTMCellImpl>;
template class Cloneable<GRUCellImpl>;

RNNImpl::RNNImpl(const RNNOptions& o)
    : SingleStateImplBase(detail::make_base_options(detail::to_rnn_mode("RNN", o.nonlinearity()), o)), options(o) {}
GRUImpl::GRUImpl(const GRUOptions& o)
    : SingleStateImplBase(detail::make_base_options(detail::RNNMode::gru, o)), options(o) {}
LSTMImpl::LSTMImpl(const LSTMOptions& o)
    : RNNImplBase(detail::make_base_options(detail::RNNMode::lstm, o).proj_size(o.proj_size())), options(o) {}
std::tuple<Tensor, std::tuple<Tensor, Tensor>> LSTMImpl::forward(const Tensor& input,
                                                                 std::optional<std::tuple<Tensor, Tensor>> hx) {
  auto [output, states] = forward_helper(input, detail::to_states(hx));
  return {output, {states[0], states[1]}};
}
std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> LSTMImpl::forward_with_packed_input(
    const utils::rnn::PackedSequence& input, std::optional<std::tuple<Tensor, Tensor>> hx) {
  auto [output, states] = forward_helper(input, detail::to_states(hx));
  return {output, {states[0], states[1]}};
}

RNNCellImpl::RNNCellImpl(const RNNCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 1)), options(o) {
  detail::to_rnn_mode("RNNCell", o.nonlinearity());
}
Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  const detail::RNNMode mode = detail::to_rnn_mode("RNNCell", options.nonlinearity());
  return run_cell(mode, input, hx.defined() ? detail::States{hx} : detail::States{})[0];
}
std::string RNNCellImpl::get_nonlinearity_str() const {
  return options.nonlinearity() == init::Nonlinearity::relu ? ", nonlinearity=relu" : "";
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 4)), options(o) {}
std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx) {
  detail::States states;
  if (hx) states = {std::get<0>(*hx), std::get<1>(*hx)};
  states = run_cell(detail::RNNMode::lstm, input, states);
  return {states[0], states[1]};
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 3)), options(o) {}
Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return run_cell(detail::RNNMode::gru, input, hx.defined() ? detail::States{hx} : detail::States{})[0];
}

}  // namespace tandem::nn
