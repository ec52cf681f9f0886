// Tests the pre-training of a GPT: losses as PyTorch's, the same bits after an interruption and with all strategies.
#include "tandem/models/language_modeling.h"
#include "tandem/tests/nn/module_rows.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/train/nets.h"
#include "tandem/text/token_windows.h"
#include "tandem/train/callbacks/model_checkpoint.h"

using namespace tandem;
using namespace tandem::models;
using test::TemporaryFolder;

namespace {

/// Records the loss of each step.
struct Losses : train::Callback {
  explicit Losses(std::vector<double>* to) : to(to) {}
  void on_train_batch_end(train::Fit& fit, int64_t) override {
    if (fit.rank() == 0) to->push_back(fit.metrics().at("train_loss"));
  }
  std::vector<double>* to;
};

/// Writes the token stream of make_pretraining_fixture.py.
text::TokenFile write_stream(const std::string& path, int64_t vocab_size, int64_t count) {
  std::vector<int64_t> tokens{0};
  for (int64_t i = 1; i < count; ++i)
    tokens.push_back(test::unit(i, 2) < 0.25 ? static_cast<int64_t>(test::unit(i, 1) * static_cast<double>(vocab_size))
                                             : (5 * tokens.back() + 3) % vocab_size);
  text::TokenFileWriter writer(path, vocab_size);
  writer.append(tokens);
  writer.finish();
  return text::TokenFile(path);
}

/// Compares the losses of the first `steps` steps with the fixture's.
void check_losses(int64_t steps) {
  const nlohmann::json fixture = test::read_json("pretraining.json");
  const nlohmann::json &sizes = fixture.at("sizes"), &options = fixture.at("options");
  const auto expected = fixture.at("losses").get<std::vector<double>>();
  const int64_t vocab = sizes.at("vocab"), block = sizes.at("block"), batch = sizes.at("batch"),
                batches = sizes.at("batches");
  const TemporaryFolder folder;
  const text::TokenWindows windows(write_stream(folder / "tokens", vocab, batches * batch * block + 1),
                                   text::TokenWindowsOptions().block_size(block));
  REQUIRE(static_cast<int64_t>(*windows.size()) == batches * batch);
  GptModel model(GptConfig()
                     .vocab_size(vocab)
                     .n_positions(block)
                     .n_embd(64)
                     .n_layer(4)
                     .n_head(4)
                     .resid_pdrop(0)
                     .embd_pdrop(0)
                     .attn_pdrop(0));
  nn::NamedParameters state;
  uint32_t salt = 1000;
  for (const auto& item : model->state_dict()) {
    const bool is_norm = item->dim() == 1 && item.key().ends_with("weight");
    const double lo = item->dim() > 1 ? -0.08
                      : is_norm       ? 0.9
                                      : -0.02,
                 hi = item->dim() > 1 ? 0.08
                      : is_norm       ? 1.1
                                      : 0.02;
    state.insert(item.key(), test::tensor_of(test::real(item->sizes().vec(), lo, hi), salt++).to(kFloat32));
  }
  model->load_state_dict(state);
  LanguageModeling module(model, TransformerTrainingOptions()
                                     .lr(options.at("lr"))
                                     .weight_decay(options.at("weight_decay"))
                                     .beta1(options.at("beta1"))
                                     .beta2(options.at("beta2"))
                                     .schedule("constant"));
  std::vector<double> losses;
  train::Trainer trainer(test::quiet()
                             .max_steps(steps)
                             .gradient_clip_val(options.at("clip"))
                             .log_every_n_steps(1)
                             .callback(Losses(&losses)));
  trainer.fit(module, train::DataSource(windows).batch_size(batch));
  REQUIRE(static_cast<int64_t>(losses.size()) == steps);
  double largest = 0;
  for (size_t i = 0; i < losses.size(); ++i) largest = std::max(largest, std::abs(losses[i] - expected[i]));
  INFO("after " << steps << " steps: " << losses.back() << ", expected " << expected[losses.size() - 1]);
  CHECK(largest < 1e-3);  // float32: rounding errors of each step reach all later ones
}

GptModel small_model() {
  manual_seed(3);
  return GptModel(GptConfig().vocab_size(20).n_positions(8).n_embd(16).n_layer(2).n_head(2));
}
/// Trains the small model for 8 steps, with dropout unless `dropout` is false.
std::vector<Tensor> train_small(const std::string& folder, train::TrainerOptions options, int64_t batch_size,
                                bool dropout) {
  const auto windows = text::TokenWindowsOptions().block_size(8).random_positions(true);
  const text::TokenWindows training(write_stream(folder + "/tokens", 20, 8 * 32 + 1), windows);
  const GptModel model = small_model();
  if (!dropout)
    for (const auto& module : model->modules())
      if (auto* const layer = dynamic_cast<nn::DropoutImpl*>(module.get())) layer->options.p(0);
  if (!dropout)
    for (size_t i = 0; i < 2; ++i) model->h->at<GptBlockImpl>(i).attn->config.attn_pdrop(0);
  LanguageModeling module(
      model, TransformerTrainingOptions().lr(0.01).schedule("cosine").min_lr(0.001).warmup_steps(2).total_steps(8));
  train::Trainer trainer(options.seed(11).gradient_clip_val(1).default_root_dir(folder));
  trainer.fit(module, train::DataSource(training).batch_size(batch_size).shuffle(true).drop_last(true));
  return test::copy_state(*model);
}

}  // namespace

TEST_CASE("GPT's losses follow PyTorch's for 200 steps", "[models][pretraining]") { check_losses(200); }

TEST_CASE("a GPT's training that continues after any step ends with the same bits", "[models][pretraining]") {
  const auto options = [](int64_t steps) {
    return test::quiet().max_steps(steps).accumulate_grad_batches(2).ckpt_path("last").callback(
        train::ModelCheckpoint(train::ModelCheckpointOptions().every_n_train_steps(1)));
  };
  const auto whole = TemporaryFolder::in_memory();
  const std::vector<Tensor> expected = train_small(whole.path(), options(8), 4, true);
  CHECK_FALSE(test::is_same_state(expected, test::copy_state(*small_model())));
  for (const int64_t cut : {1, 4, 6}) {  // within the first epoch, at its end, and within the second
    INFO("continued after step " << cut);
    const auto folder = TemporaryFolder::in_memory();
    CHECK_FALSE(test::is_same_state(train_small(folder.path(), options(cut), 4, true), expected));
    CHECK(test::is_same_state(train_small(folder.path(), options(8), 4, true), expected));
  }
}

TEST_CASE("all strategies train a GPT to the bits of one device that accumulates", "[models][pretraining][parallel]") {
  const auto folder = TemporaryFolder::in_memory();
  // On one device, two batches of 4 make a step. They are the shards of a batch of 8 on two devices.
  const auto single =
      train_small(folder.path(), test::quiet().max_steps(8).accumulate_grad_batches(2), 4, /*dropout=*/false);
  for (const char* strategy : {"dp", "dp_loss", "ddp_local"}) {
    INFO(strategy);
    CHECK(test::is_same_state(train_small(folder.path(), test::quiet(strategy, 2).max_steps(8), 8, false), single));
  }
}

TEST_CASE("the count of operations of a token is that of its matrix products", "[models][pretraining]") {
  const GptModel model(GptConfig().vocab_size(20).n_positions(8).n_embd(16).n_layer(2).n_head(2));
  // A layer has 12 w^2 weights, 9 w biases of linear layers and 4 w numbers of two LayerNorms; ln_f has 2 w.
  const double w = 16, parameters = 20 * w + 2 * (12 * w * w + 13 * w) + 2 * w;
  CHECK(flops_per_token(model, 8) == 6 * parameters + 12 * 2 * w * 8);
}

TEST_CASE("training options refuse a final rate that the schedule does not reach", "[models][pretraining]") {
  const auto module = std::make_shared<LanguageModeling>(small_model(), TransformerTrainingOptions());
  CHECK_THROWS_WITH(make_transformer_optimizer(*module, TransformerTrainingOptions().lr(1).min_lr(0.1)),
                    Contains("min_lr is 0.1 with lr 1 and schedule 'linear'; accepted: 0, and with cosine"));
  CHECK_THROWS_WITH(
      make_transformer_optimizer(*module, TransformerTrainingOptions().lr(1).min_lr(2).schedule("cosine")),
      Contains("min_lr is 2"));
}
