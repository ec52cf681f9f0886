// Trains a GRU to predict the next character of a text, with early stopping, and lets it write.
// usage: char_gru TEXT [EPOCHS [FOLDER [STRATEGY [DEVICES]]]]      FOLDER: new, for checkpoints
#include <tandem/tandem.h>
#include <tandem/train/train.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace tandem;

struct Net : train::TrainingModule<Net> {
  Net() { reset(); }
  void reset() override {
    embedding = register_module("embedding", nn::Embedding(256, 64));
    gru = register_module("gru", nn::GRU(nn::GRUOptions(64, 128).batch_first(true)));
    head = register_module("head", nn::Linear(128, 256));
  }
  Tensor forward(const data::Example<>& batch) override { return head(std::get<0>(gru(embedding(batch.data)))); }
  Tensor loss(const Tensor& output, const data::Example<>& batch) override {
    return cross_entropy(output.flatten(0, 1), batch.target.flatten());
  }
  train::Optimizers configure_optimizers() override { return std::make_unique<optim::Adam>(parameters(), 3e-3); }
  std::string write(std::string text, int count) {  // continues a text
    Tensor state, input = tensor(std::vector<uint8_t>(text.begin(), text.end())).to(kInt64).unsqueeze(0), output;
    for (const NoGradGuard no_grad; count-- > 0; text += static_cast<char>(input.item<int64_t>())) {
      std::tie(output, state) = gru(embedding(input), state);
      input = multinomial(softmax(head(output.select(1, -1)) / 0.7, 1), 1);
    }
    return text;
  }
  nn::Embedding embedding{nullptr};
  nn::GRU gru{nullptr};
  nn::Linear head{nullptr};
};

int main(int argc, char** argv) try {
  TANDEM_CHECK(argc > 1, "usage: char_gru TEXT [EPOCHS [FOLDER [STRATEGY [DEVICES]]]]");
  std::ifstream file(argv[1], std::ios::binary);
  const std::vector<uint8_t> text((std::istreambuf_iterator<char>(file)), {});
  const int64_t length = 64, count = (static_cast<int64_t>(text.size()) - 1) / length, training = count * 9 / 10;
  TANDEM_CHECK(training > 0 && training < count, argv[1], " has ", text.size(), " bytes; accepted: 129 or more");
  const Tensor bytes = tensor(text).to(kInt64);  // the target of each byte is the next one
  const auto rows = [&](int64_t at) { return bytes.slice(0, at, at + count * length).view({count, length}); };
  const auto sequences = [&](int64_t from, int64_t to) {
    return train::DataSource(data::datasets::TensorPairDataset(rows(0).slice(0, from, to), rows(1).slice(0, from, to)));
  };
  manual_seed(1);
  Net net;
  auto options = train::TrainerOptions().default_root_dir(argc > 3 ? argv[3] : "runs/char_gru").gradient_clip_val(1);
  options.max_epochs(argc > 2 ? std::atoi(argv[2]) : 20).devices(argc > 5 ? std::atoi(argv[5]) : 1);
  options.strategy(argc > 4 ? argv[4] : "single").callback(train::EarlyStopping()).callback(train::ModelCheckpoint());
  train::Trainer trainer(options);
  trainer.fit(net, sequences(0, training).batch_size(32).shuffle(true), sequences(training, count).batch_size(64));
  std::cout << "perplexity " << std::exp(trainer.metrics().at("val_loss")) << "; it writes:\n"
            << net.write("The ", 200) << '\n';
} catch (const std::exception& error) {
  std::cerr << "char_gru: " << error.what() << '\n';
  return 1;
}
