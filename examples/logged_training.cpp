// Trains on FashionMNIST and logs it: curves, histograms and images for TensorBoard, a CSV file, an image of the first
// misclassified examples, and a progress bar on the terminal.
// usage: logged_training [FOLDER [EPOCHS [LOG_FOLDER]]]
//   FOLDER: folder of the data; default: where Debian's package dataset-fashion-mnist installs it
#include <tandem/tandem.h>

#include <cstdio>
#include <cstdlib>

using namespace tandem;

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 2;
  const std::string logs = argc > 3 ? argv[3] : "runs/fashion_mnist";
  manual_seed(1);

  using data::datasets::FashionMNIST;
  auto train = data::make_data_loader<data::samplers::RandomSampler>(
      FashionMNIST(folder).map(data::transforms::Stack<>()), data::DataLoaderOptions(128).workers(1));
  const FashionMNIST test(folder, FashionMNIST::Mode::kTest);
  const Tensor images = test.images();
  const Tensor& labels = test.targets();

  nn::Sequential net(nn::Flatten(), nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  logs::SummaryWriter writer(logs);
  logs::MetricsWriter metrics(logs + "/steps.csv");
  writer.add_text("settings", "Adam, rate 0.001, batches of **128**");
  writer.add_image("test images", data::make_grid(images.narrow(0, 0, 32)));

  int64_t step = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    auto bar = data::progress(*train, "epoch " + std::to_string(epoch));
    for (auto& batch : bar) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(net(batch.data), batch.target);
      loss.backward();
      optimizer.step();
      ++step;
      writer.add_scalar("train/loss", loss, step);
      metrics.add(step, {{"epoch", epoch}, {"loss", loss.item<double>()}});
      bar.set_postfix("loss " + std::to_string(loss.item<float>()));
    }

    const NoGradGuard no_grad;
    const Tensor wrong = net(images).argmax(1).ne(labels);
    const double accuracy = 1 - wrong.to(kFloat32).mean().item<double>();
    writer.add_scalar("test/accuracy", accuracy, step);
    for (const auto& parameter : net->named_parameters())
      writer.add_histogram(parameter.key(), parameter.value(), step);
    std::printf("epoch %d: %.2f %% of the test images\n", epoch, 100 * accuracy);
    const Tensor mistakes = wrong.nonzero().flatten();
    if (mistakes.numel() > 0)
      data::save_image(images.index_select(0, mistakes.narrow(0, 0, std::min<int64_t>(32, mistakes.numel()))),
                       logs + "/mistakes.png");
  }
  std::printf("tensorboard --logdir %s\n", logs.c_str());
} catch (const std::exception& error) {
  std::fprintf(stderr, "logged_training: %s\n", error.what());
  return 1;
}
