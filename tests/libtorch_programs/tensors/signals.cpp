// Signal processing: windows, filters, frames, a Fourier matrix, correlation, interpolation, integrals and slopes.
#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>

int main() {
  std::cout << std::fixed << std::setprecision(4);
  const auto options = torch::kDouble;
  const double pi = std::acos(-1.0);
  const auto time = torch::arange(48, options) / 16;
  const auto signal = (2 * pi * 2 * time).sin() + 0.5 * (2 * pi * 5 * time).cos();

  std::cout << torch::hann_window(8, options) << torch::hamming_window(5, false, options)
            << torch::bartlett_window(6, options) << torch::blackman_window(6, options)
            << torch::kaiser_window(5, false, 8.0, options) << std::endl;

  const auto taps = torch::tensor({0.25, 0.5, 0.25}, options).view({1, 1, 3});
  const auto smooth = torch::conv1d(signal.view({1, 1, -1}), taps, {}, 1, 1).flatten();
  std::cout << smooth.slice(0, 0, 6) << smooth.var().item<double>() << std::endl;
  auto recursive = torch::zeros_like(signal);
  double last = 0;
  for (int64_t i = 0; i < signal.size(0); ++i) recursive[i] = last = 0.8 * last + 0.2 * signal[i].item<double>();
  std::cout << recursive.slice(0, 40) << std::endl;

  // Weighted frames of 16 samples with a hop of 8, and the power of each frequency by the Fourier matrix.
  const auto frames = signal.unfold(0, 16, 8) * torch::hann_window(16, options);
  const auto angle = 2 * pi * torch::outer(torch::arange(9, options), torch::arange(16, options)) / 16;
  const auto power = frames.mm(angle.cos().t()).square() + frames.mm(angle.sin().t()).square();
  std::cout << frames.sizes() << power.argmax(1) << power[0] << std::endl;
  const auto rebuilt = torch::zeros_like(signal).index_put_(
      {(torch::arange(5).unsqueeze(1) * 8 + torch::arange(16)).flatten()}, frames.flatten(), /*accumulate=*/true);
  std::cout << (rebuilt - signal).slice(0, 8, 40).abs().max().lt(1e-12).item<bool>() << std::endl;

  const auto lags = torch::arange(-4, 5);
  for (int64_t i = 0; i < lags.size(0); ++i)
    std::cout << (signal * signal.roll(lags[i].item<int64_t>())).mean().item<double>() << " ";
  std::cout << std::endl;

  // Interpolates between samples: neighbours by searchsorted, and their weights.
  const auto wanted = torch::tensor({0.01, 0.5, 1.234, 2.9}, options);
  const auto right = torch::searchsorted(time, wanted).clamp(1, 47), left = right - 1;
  const auto share = (wanted - time.index({left})) / (time.index({right}) - time.index({left}));
  std::cout << torch::lerp(signal.index({left}), signal.index({right}), share) << std::endl;
  std::cout << torch::bucketize(wanted, time.slice(0, 0, 48, 8)) << torch::histc(signal, 5, -1.5, 1.5) << std::endl;

  std::cout << torch::trapezoid(signal, time).item<double>() << " "
            << torch::cumulative_trapezoid(signal, time)[-1].item<double>() << " "
            << torch::gradient(signal, torch::Scalar(1.0 / 16), torch::IntArrayRef{0})[0].slice(0, 0, 4)
            << torch::diff(signal, 2).slice(0, 0, 3) << std::endl;
  const auto peaks =
      ((signal.slice(0, 1, -1) > signal.slice(0, 0, -2)) & (signal.slice(0, 1, -1) > signal.slice(0, 2))).nonzero();
  std::cout << peaks.flatten() + 1 << std::endl;

  // Fits a line and two waves by least squares, in two ways.
  const auto design = torch::stack({torch::ones_like(time), time, (4 * pi * time).sin(), (10 * pi * time).cos()}, 1);
  std::cout << torch::pinverse(design).mv(signal).mul(100).round().abs()
            << std::get<0>(torch::linalg_lstsq(design, signal.unsqueeze(1))).flatten().mul(100).round().abs()
            << std::endl;
  const auto groups = torch::arange(48) % 4;
  std::cout << torch::zeros({4}, options).index_reduce(0, groups, signal, "amax", false)
            << torch::ones({4}, options).index_reduce(0, groups, signal, "mean", true)
            << torch::zeros({4}, options).scatter_reduce(0, groups, signal, "amin") << std::endl;
  return 0;
}
