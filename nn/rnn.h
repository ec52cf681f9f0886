// Recurrent networks over whole sequences, and single steps of them: RNN, LSTM and GRU, RNNCell, LSTMCell and GRUCell.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"
#include "tandem/nn/utils/packed_sequence.h"

namespace tandem::detail {

enum class RNNMode { lstm, gru, rnn_tanh, rnn_relu };
/// The options that recurrent modules share, under LibTorch's names.
struct RNNOptionsBase {
  RNNOptionsBase(RNNMode mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(RNNMode, mode);                // the kind: relu, tanh, LSTM or GRU
  TANDEM_ARG(int64_t, input_size);          // length of an input
  TANDEM_ARG(int64_t, hidden_size);         // length of a state
  TANDEM_ARG(int64_t, num_layers) = 1;      // number of stacked layers
  TANDEM_ARG(bool, bias) = true;            // whether a bias is added
  TANDEM_ARG(bool, batch_first) = false;    // whether the batch is dimension 0
  TANDEM_ARG(double, dropout) = 0;          // dropout probability after every layer but the last
  TANDEM_ARG(bool, bidirectional) = false;  // whether a second network runs backwards
  TANDEM_ARG(int64_t, proj_size) = 0;       // length of the projected state; 0: no projection
};
/// What RNNOptions, LSTMOptions and GRUOptions have in common; setters give an Options.
template <class Options> struct SequenceOptions {
  SequenceOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG_OF(Options, int64_t, input_size);          // length of an input
  TANDEM_ARG_OF(Options, int64_t, hidden_size);         // length of a state
  TANDEM_ARG_OF(Options, int64_t, num_layers) = 1;      // number of stacked layers
  TANDEM_ARG_OF(Options, bool, bias) = true;            // whether a bias is added
  TANDEM_ARG_OF(Options, bool, batch_first) = false;    // inputs and outputs are (B, T, ...) in place of (T, B, ...)
  TANDEM_ARG_OF(Options, double, dropout) = 0;          // dropout probability after every layer but the last
  TANDEM_ARG_OF(Options, bool, bidirectional) = false;  // a second network runs backwards; outputs stand side by side
};
/// The hidden states of a batch: LSTM has two, the others one.
using States = std::vector<Tensor>;

/// What recurrent modules share: parameters weight_ih_l0 (gates hidden_size, inputs), weight_hh_l0, bias_ih_l0,
/// bias_hh_l0, with proj_size weight_hr_l0, then those of the other direction (weight_ih_l0_reverse, ...) and of the
/// other layers (weight_ih_l1, ...).
template <class Derived> class RNNImplBase : public nn::Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& o) : options_base(o) { reset(); }
  /// @throws Error unless sizes and num_layers are positive, dropout is 0 to 1, and proj_size below hidden_size
  void reset() override;
  /// Uniform within 1 / sqrt(hidden_size).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Does nothing, as LibTorch's on the CPU: there is no kernel here that wants the parameters side by side.
  void flatten_parameters() {}
  /// The parameters in the order given above.
  std::vector<Tensor> all_weights() const;
  RNNOptionsBase options_base;

 protected:
  /// The outputs of the last layer and the last states of all, for sequences of one length or packed ones.
  std::pair<Tensor, States> run(const Tensor& input, States states) const;
  std::pair<nn::utils::rnn::PackedSequence, States> run(const nn::utils::rnn::PackedSequence& input,
                                                        States states) const;

 private:
  std::vector<std::string> names_;  // of the parameters
};

/// What RNN and GRU share, which have one state.
template <class Derived> class OneStateImplBase : public RNNImplBase<Derived> {
 public:
  using RNNImplBase<Derived>::RNNImplBase;
  /// input (T, B, input_size), or (T, input_size) of one sequence; hx (layers directions, B, hidden_size), or without
  /// B, zeros unless given -> (outputs (T, B, directions hidden_size), the last hx)
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {}) { return run_one(input, hx); }
  /// The same of packed sequences; hx is in the order of the user's batch.
  std::tuple<nn::utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const nn::utils::rnn::PackedSequence& input, Tensor hx = {}) {
    return run_one(input, hx);
  }

 private:
  template <class Input> std::tuple<Input, Tensor> run_one(const Input& input, const Tensor& hx) const {
    auto [output, states] = this->run(input, hx.defined() ? States{hx} : States{});
    return {std::move(output), std::move(states[0])};
  }
};

struct RNNCellOptionsBase {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias), num_chunks_(num_chunks) {}
  TANDEM_ARG(int64_t, input_size);   // length of an input
  TANDEM_ARG(int64_t, hidden_size);  // length of a state
  TANDEM_ARG(bool, bias);            // whether a bias is added
  TANDEM_ARG(int64_t, num_chunks);   // gates
};
/// What the cells share.
template <class Derived> class RNNCellImplBase : public nn::Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& o) : options_base(o) { reset(); }
  void reset() override;
  /// Uniform within 1 / sqrt(hidden_size).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  RNNCellOptionsBase options_base;
  Tensor weight_ih, weight_hh;  // (gates hidden_size, input_size) and (gates hidden_size, hidden_size)
  Tensor bias_ih, bias_hh;      // (gates hidden_size), undefined when options.bias() is false

 protected:
  /// One step; input and states with or without a batch.
  States step(RNNMode mode, const Tensor& input, States states) const;
  /// The option of this name as it is printed: nothing for tanh.
  virtual std::string nonlinearity_text() const { return ""; }
};

}  // namespace tandem::detail

namespace tandem::nn {

struct RNNOptions : detail::SequenceOptions<RNNOptions> {
  using SequenceOptions::SequenceOptions;
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = init::Nonlinearity::tanh;  // or relu
};
struct LSTMOptions : detail::SequenceOptions<LSTMOptions> {
  using SequenceOptions::SequenceOptions;
  TANDEM_ARG(int64_t, proj_size) = 0;  // above 0: h is multiplied by a matrix (proj_size, hidden_size)
};
struct GRUOptions : detail::SequenceOptions<GRUOptions> {
  using SequenceOptions::SequenceOptions;
};

/// h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over time, or with relu in the place of tanh (Elman 1990).
class RNNImpl : public detail::OneStateImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& o);
  RNNOptions options;
};
/// i, f, o = sigmoid(W x + b + U h + d), g = tanh(...), each with a W, U, b, d of its own, stacked in the order i f g
/// o; c' = f c + i g, h' = o tanh(c') (Hochreiter and Schmidhuber 1997, with Gers et al. 2000), or with proj_size h' =
/// W_hr (o tanh(c')) (Sak et al. 2014, arXiv:1402.1128).
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& o);
  /// As RNN's, with a pair (h, c) of states; h has proj_size features where that is above 0, and so have the outputs.
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& input,
                                                         std::optional<std::tuple<Tensor, Tensor>> hx = {});
  /// The same of packed sequences; hx is in the order of the user's batch.
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& input, std::optional<std::tuple<Tensor, Tensor>> hx = {});
  LSTMOptions options;
};
/// r, z = sigmoid(W x + b + U h + d), n = tanh(W x + b + r (U h + d)), each with a W, U, b, d of its own, stacked in
/// the order r z n; h' = (1 - z) n + z h (Cho et al. 2014, arXiv:1406.1078, in the form that cuDNN has).
class GRUImpl : public detail::OneStateImplBase<GRUImpl> {
 public:
  GRUImpl(int64_t input_size, int64_t hidden_size) : GRUImpl(GRUOptions(input_size, hidden_size)) {}
  explicit GRUImpl(const GRUOptions& o);
  GRUOptions options;
};
TANDEM_LIBRARY_MODULE(RNN);
TANDEM_LIBRARY_MODULE(LSTM);
TANDEM_LIBRARY_MODULE(GRU);

struct RNNCellOptions {
  RNNCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);                                          // length of an input
  TANDEM_ARG(int64_t, hidden_size);                                         // length of a state
  TANDEM_ARG(bool, bias) = true;                                            // whether a bias is added
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = init::Nonlinearity::tanh;  // or relu
};
struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);   // length of an input
  TANDEM_ARG(int64_t, hidden_size);  // length of a state
  TANDEM_ARG(bool, bias) = true;     // whether a bias is added
};
using GRUCellOptions = LSTMCellOptions;

/// One step of RNN.
class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& o);
  /// input (B, input_size), hx (B, hidden_size), zeros unless given -> the next hx; or both without B
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  RNNCellOptions options;

 protected:
  std::string nonlinearity_text() const override;
};
/// One step of LSTM.
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& o);
  /// As RNNCell's, with a pair (h, c) of states.
  std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx = {});
  LSTMCellOptions options;
};
/// One step of GRU.
class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& o);
  /// As RNNCell's.
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  GRUCellOptions options;
};
TANDEM_LIBRARY_MODULE(RNNCell);
TANDEM_LIBRARY_MODULE(LSTMCell);
TANDEM_LIBRARY_MODULE(GRUCell);

}  // namespace tandem::nn

namespace tandem::detail {
extern template class RNNImplBase<nn::RNNImpl>;
extern template class RNNImplBase<nn::LSTMImpl>;
extern template class RNNImplBase<nn::GRUImpl>;
extern template class RNNCellImplBase<nn::RNNCellImpl>;
extern template class RNNCellImplBase<nn::LSTMCellImpl>;
extern template class RNNCellImplBase<nn::GRUCellImpl>;
}  // namespace tandem::detail
