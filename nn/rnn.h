// Recurrent networks over whole sequences (RNN, LSTM, GRU), and single steps of them (RNNCell, LSTMCell, GRUCell).
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module.h"
#include "tandem/nn/utils/packed_sequence.h"

namespace tandem::detail {

enum class RNNMode { lstm, gru, rnn_tanh, rnn_relu };
/// Options of all recurrent modules, under LibTorch's names.
struct RNNOptionsBase {
  RNNOptionsBase(RNNMode mode, int64_t input_size, int64_t hidden_size)
      : mode_(mode), input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(RNNMode, mode);                // RNN with tanh or relu, LSTM or GRU
  TANDEM_ARG(int64_t, input_size);          // number of input features
  TANDEM_ARG(int64_t, hidden_size);         // number of features of the hidden state
  TANDEM_ARG(int64_t, num_layers) = 1;      // number of stacked layers
  TANDEM_ARG(bool, bias) = true;            // whether a bias is added
  TANDEM_ARG(bool, batch_first) = false;    // whether the batch is dimension 0 of inputs and outputs
  TANDEM_ARG(double, dropout) = 0;          // dropout probability after every layer but the last
  TANDEM_ARG(bool, bidirectional) = false;  // if true, adds a network that runs from the last step to the first
  TANDEM_ARG(int64_t, proj_size) = 0;       // features of the projected hidden state; 0: no projection
};
/// Base class of RNNOptions, LSTMOptions and GRUOptions. Setters return Options, the derived class, so that they can be
/// chained.
template <class Options> struct SequenceOptions {
  SequenceOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_INHERITED_ARG(Options, int64_t, input_size);        // number of input features
  TANDEM_INHERITED_ARG(Options, int64_t, hidden_size);       // number of features of the hidden state
  TANDEM_INHERITED_ARG(Options, int64_t, num_layers) = 1;    // number of stacked layers
  TANDEM_INHERITED_ARG(Options, bool, bias) = true;          // whether a bias is added
  TANDEM_INHERITED_ARG(Options, bool, batch_first) = false;  // if true, tensors are (B, T, ...) instead of (T, B, ...)
  TANDEM_INHERITED_ARG(Options, double, dropout) = 0;        // dropout probability after every layer but the last
  TANDEM_INHERITED_ARG(Options, bool,
                       bidirectional) = false;  // if true, adds a reverse network and concatenates the outputs
};
/// Hidden states of a batch: (h, c) for LSTM, (h) for the others.
using States = std::vector<Tensor>;

/// Base class of recurrent modules. Parameters of layer 0: weight_ih_l0 (gates * hidden_size, input_size),
/// weight_hh_l0, bias_ih_l0, bias_hh_l0 and, with proj_size, weight_hr_l0. Then follow the parameters of the reverse
/// direction (weight_ih_l0_reverse, ...) and of the other layers (weight_ih_l1, ...).
template <class Derived> class RNNImplBase : public nn::Cloneable<Derived> {
 public:
  explicit RNNImplBase(const RNNOptionsBase& o) : options_base(o) { reset(); }
  /// @throws Error unless input_size, hidden_size and num_layers are positive, dropout is from 0 to 1, and proj_size is
  /// below hidden_size
  void reset() override;
  /// Initialises all parameters uniformly in +-1 / sqrt(hidden_size).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Does nothing, as in LibTorch on the CPU: no kernel here needs the parameters in one block of memory.
  void flatten_parameters() {}
  /// Returns all parameters, in the order that the class comment lists.
  std::vector<Tensor> all_weights() const;
  RNNOptionsBase options_base;

 protected:
  /// Returns the last layer's outputs and the final states of all layers. The input is padded or packed.
  std::pair<Tensor, States> forward_helper(const Tensor& input, States states) const;
  std::pair<nn::utils::rnn::PackedSequence, States> forward_helper(const nn::utils::rnn::PackedSequence& input,
                                                                   States states) const;

 private:
  std::vector<std::string> parameter_names_;  // names of all parameters, in order
};

/// Base class of RNN and GRU, which have one hidden state.
template <class Derived> class SingleStateImplBase : public RNNImplBase<Derived> {
 public:
  using RNNImplBase<Derived>::RNNImplBase;
  /// Runs over sequences: input (T, B, input_size) and hx (num_layers * directions, B, hidden_size), zeros if
  /// undefined, give (outputs (T, B, directions * hidden_size), final hx). For one sequence without a batch, all these
  /// tensors lack the dimension B. With batch_first, input and outputs are (B, T, ...).
  std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {}) { return run_single_state(input, hx); }
  /// Runs over packed sequences; hx is in the order of the user's batch.
  std::tuple<nn::utils::rnn::PackedSequence, Tensor> forward_with_packed_input(
      const nn::utils::rnn::PackedSequence& input, Tensor hx = {}) {
    return run_single_state(input, hx);
  }

 private:
  template <class Input> std::tuple<Input, Tensor> run_single_state(const Input& input, const Tensor& hx) const {
    auto [output, states] = this->forward_helper(input, hx.defined() ? States{hx} : States{});
    return {std::move(output), std::move(states[0])};
  }
};

struct RNNCellOptionsBase {
  RNNCellOptionsBase(int64_t input_size, int64_t hidden_size, bool bias, int64_t num_chunks)
      : input_size_(input_size), hidden_size_(hidden_size), bias_(bias), num_chunks_(num_chunks) {}
  TANDEM_ARG(int64_t, input_size);   // number of input features
  TANDEM_ARG(int64_t, hidden_size);  // number of features of the hidden state
  TANDEM_ARG(bool, bias);            // whether a bias is added
  TANDEM_ARG(int64_t, num_chunks);   // number of gates
};
/// Base class of the recurrent cells.
template <class Derived> class RNNCellImplBase : public nn::Cloneable<Derived> {
 public:
  explicit RNNCellImplBase(const RNNCellOptionsBase& o) : options_base(o) { reset(); }
  void reset() override;
  /// Initialises all parameters uniformly in +-1 / sqrt(hidden_size).
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  RNNCellOptionsBase options_base;
  Tensor weight_ih, weight_hh;  // (gates * hidden_size, input_size) and (gates * hidden_size, hidden_size)
  Tensor bias_ih, bias_hh;      // (gates * hidden_size); undefined if options.bias() is false

 protected:
  /// Computes one step. Input and states may lack the batch dimension.
  States run_cell(RNNMode mode, const Tensor& input, States states) const;
  /// Returns the text that prints the nonlinearity; empty for tanh.
  virtual std::string get_nonlinearity_str() const { return ""; }
};

}  // namespace tandem::detail

namespace tandem::nn {

struct RNNOptions : detail::SequenceOptions<RNNOptions> {
  using SequenceOptions::SequenceOptions;
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = init::Nonlinearity::tanh;  // kTanh or kReLU
};
struct LSTMOptions : detail::SequenceOptions<LSTMOptions> {
  using SequenceOptions::SequenceOptions;
  TANDEM_ARG(int64_t, proj_size) = 0;  // if above 0, h is multiplied by a matrix (proj_size, hidden_size)
};
struct GRUOptions : detail::SequenceOptions<GRUOptions> {
  using SequenceOptions::SequenceOptions;
};

/// Computes h' = tanh(W_ih x + b_ih + W_hh h + b_hh) for each step, or with relu instead of tanh (Elman 1990).
class RNNImpl : public detail::SingleStateImplBase<RNNImpl> {
 public:
  RNNImpl(int64_t input_size, int64_t hidden_size) : RNNImpl(RNNOptions(input_size, hidden_size)) {}
  explicit RNNImpl(const RNNOptions& o);
  RNNOptions options;
};
/// Computes for each step i, f, o = sigmoid(W x + b + U h + d) and g = tanh(W x + b + U h + d), then c' = f c + i g and
/// h' = o tanh(c'). Each gate has its own W, U, b, d, stacked in the order i f g o (Hochreiter and Schmidhuber 1997,
/// with Gers et al. 2000). With proj_size h' = W_hr (o tanh(c')) (Sak et al. 2014, arXiv:1402.1128).
class LSTMImpl : public detail::RNNImplBase<LSTMImpl> {
 public:
  LSTMImpl(int64_t input_size, int64_t hidden_size) : LSTMImpl(LSTMOptions(input_size, hidden_size)) {}
  explicit LSTMImpl(const LSTMOptions& o);
  /// Same as RNN's forward, with a pair of states (h, c). With proj_size, h and the outputs have proj_size features.
  std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(const Tensor& input,
                                                         std::optional<std::tuple<Tensor, Tensor>> hx = {});
  /// Runs over packed sequences; hx is in the order of the user's batch.
  std::tuple<utils::rnn::PackedSequence, std::tuple<Tensor, Tensor>> forward_with_packed_input(
      const utils::rnn::PackedSequence& input, std::optional<std::tuple<Tensor, Tensor>> hx = {});
  LSTMOptions options;
};
/// Computes for each step r, z = sigmoid(W x + b + U h + d), n = tanh(W x + b + r (U h + d)) and h' = (1 - z) n + z h.
/// Each gate has its own W, U, b, d, stacked in the order r z n (Cho et al. 2014, arXiv:1406.1078, in cuDNN's form).
class GRUImpl : public detail::SingleStateImplBase<GRUImpl> {
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
  TANDEM_ARG(int64_t, input_size);                                          // number of input features
  TANDEM_ARG(int64_t, hidden_size);                                         // number of features of the hidden state
  TANDEM_ARG(bool, bias) = true;                                            // whether a bias is added
  TANDEM_ARG(init::Nonlinearity, nonlinearity) = init::Nonlinearity::tanh;  // kTanh or kReLU
};
struct LSTMCellOptions {
  LSTMCellOptions(int64_t input_size, int64_t hidden_size) : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);   // number of input features
  TANDEM_ARG(int64_t, hidden_size);  // number of features of the hidden state
  TANDEM_ARG(bool, bias) = true;     // whether a bias is added
};
using GRUCellOptions = LSTMCellOptions;

/// Computes one step of an RNN.
class RNNCellImpl : public detail::RNNCellImplBase<RNNCellImpl> {
 public:
  RNNCellImpl(int64_t input_size, int64_t hidden_size) : RNNCellImpl(RNNCellOptions(input_size, hidden_size)) {}
  explicit RNNCellImpl(const RNNCellOptions& o);
  /// Returns the next hx (B, hidden_size) from input (B, input_size) and hx, zeros if undefined. All tensors may lack
  /// the dimension B.
  Tensor forward(const Tensor& input, const Tensor& hx = {});
  RNNCellOptions options;

 protected:
  std::string get_nonlinearity_str() const override;
};
/// Computes one step of an LSTM.
class LSTMCellImpl : public detail::RNNCellImplBase<LSTMCellImpl> {
 public:
  LSTMCellImpl(int64_t input_size, int64_t hidden_size) : LSTMCellImpl(LSTMCellOptions(input_size, hidden_size)) {}
  explicit LSTMCellImpl(const LSTMCellOptions& o);
  /// Same as RNNCell's forward, with a pair of states (h, c).
  std::tuple<Tensor, Tensor> forward(const Tensor& input, std::optional<std::tuple<Tensor, Tensor>> hx = {});
  LSTMCellOptions options;
};
/// Computes one step of a GRU.
class GRUCellImpl : public detail::RNNCellImplBase<GRUCellImpl> {
 public:
  GRUCellImpl(int64_t input_size, int64_t hidden_size) : GRUCellImpl(GRUCellOptions(input_size, hidden_size)) {}
  explicit GRUCellImpl(const GRUCellOptions& o);
  /// Same as RNNCell's forward.
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
