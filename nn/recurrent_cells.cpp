#include <cmath>

#include "tandem/nn/module/print.h"
#include "tandem/nn/recurrent_steps.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {

template <class Derived> void RNNCellImplBase<Derived>::reset() {
  const RNNCellOptionsBase& o = options_base;
  const char* const name = o.num_chunks() == 1 ? "RNNCell" : o.num_chunks() == 3 ? "GRUCell" : "LSTMCell";
  TANDEM_CHECK(o.input_size() > 0 && o.hidden_size() > 0, name, ": input_size is ", o.input_size(), " and hidden_size ",
               o.hidden_size(), "; both must be positive");
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
      << (options_base.bias() ? "" : ", bias=False") << nonlinearity_text() << ')';
}
template <class Derived> States RNNCellImplBase<Derived>::step(RNNMode mode, const Tensor& given, States states) const {
  const RNNCellOptionsBase& o = options_base;
  const bool batched = given.dim() == 2;
  TANDEM_CHECK((batched || given.dim() == 1) && given.size(-1) == o.input_size(), this->name(), ": input is ",
               given.sizes(), "; accepted: (B, ", o.input_size(), ") and (", o.input_size(), ",)");
  const Tensor input = batched ? given : given.unsqueeze(0);
  const Shape expected{input.size(0), o.hidden_size()};
  if (states.empty()) states.assign(mode == RNNMode::lstm ? 2 : 1, zeros(expected, input.options()));
  for (Tensor& state : states) {
    TANDEM_CHECK(state.dim() == given.dim() || state.sizes() == expected, this->name(), ": hx is ", state.sizes(),
                 " and input ", given.sizes(), "; both must have a dimension for the batch, or neither");
    if (state.dim() == 1) state = state.unsqueeze(0);
    TANDEM_CHECK(state.sizes() == expected, this->name(), ": hx is ", state.sizes(), " beside input ", given.sizes(),
                 "; accepted: ", IntArrayRef(expected));
  }
  const StepWeights w{weight_ih, weight_hh, bias_ih, bias_hh, {}};
  States next = detail::step(mode, input_gates(mode, input, w), states, w);
  if (!batched)
    for (Tensor& state : next) state = state.squeeze(0);
  return next;
}

template class RNNCellImplBase<nn::RNNCellImpl>;
template class RNNCellImplBase<nn::LSTMCellImpl>;
template class RNNCellImplBase<nn::GRUCellImpl>;

}  // namespace tandem::detail

namespace tandem::nn {

template class Cloneable<RNNCellImpl>;
template class Cloneable<LSTMCellImpl>;
template class Cloneable<GRUCellImpl>;

RNNCellImpl::RNNCellImpl(const RNNCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 1)), options(o) {
  detail::mode_of("RNNCell", o.nonlinearity());
}
Tensor RNNCellImpl::forward(const Tensor& input, const Tensor& hx) {
  const detail::RNNMode mode = detail::mode_of("RNNCell", options.nonlinearity());
  return step(mode, input, hx.defined() ? detail::States{hx} : detail::States{})[0];
}
std::string RNNCellImpl::nonlinearity_text() const {
  return options.nonlinearity() == init::Nonlinearity::relu ? ", nonlinearity=relu" : "";
}

LSTMCellImpl::LSTMCellImpl(const LSTMCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 4)), options(o) {}
std::tuple<Tensor, Tensor> LSTMCellImpl::forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx) {
  detail::States states;
  if (hx) states = {std::get<0>(*hx), std::get<1>(*hx)};
  states = step(detail::RNNMode::lstm, input, states);
  return {states[0], states[1]};
}

GRUCellImpl::GRUCellImpl(const GRUCellOptions& o)
    : RNNCellImplBase(detail::RNNCellOptionsBase(o.input_size(), o.hidden_size(), o.bias(), 3)), options(o) {}
Tensor GRUCellImpl::forward(const Tensor& input, const Tensor& hx) {
  return step(detail::RNNMode::gru, input, hx.defined() ? detail::States{hx} : detail::States{})[0];
}

}  // namespace tandem::nn
