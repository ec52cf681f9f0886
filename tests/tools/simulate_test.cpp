// Tests the cost model's formulas against values computed by hand, against a simulation of single messages, and in
// their limits.
#include <algorithm>
#include <cmath>
#include <random>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"
#include "tandem/tools/simulate/simulate.h"

using namespace tandem::simulate;

namespace {

/// Simulates a ring all-reduce message by message. In each of 2 (n - 1) rounds, a device sends a block as soon as it
/// has the block of the previous round and its link is free.
double simulate_ring_messages(double bytes, int n, const std::vector<Link>& links) {
  std::vector<double> has(static_cast<size_t>(n)), next(has);
  for (int round = 0; round < 2 * (n - 1); ++round) {
    for (size_t i = 0; i < has.size(); ++i) {
      const size_t to = (i + 1) % has.size();
      next[to] = std::max(has[i], has[to]) + links[i].seconds(bytes / n);
    }
    has = next;
  }
  return *std::max_element(has.begin(), has.end());
}
/// Simulates a broadcast along a chain of n devices in k blocks, message by message.
double simulate_chain_messages(double bytes, int n, int k, const Link& link) {
  std::vector<double> has(static_cast<size_t>(n));  // time when each device has the latest block
  for (int block = 0; block < k; ++block)
    for (size_t i = 1; i < has.size(); ++i)
      has[i] = std::max(has[i], i > 1 ? has[i - 1] : 0.0) + link.seconds(bytes / k);
  return has.back();
}

const Link kLink{5e-6, 10e9};

StepProfile measure_profile(double bytes, int groups) {
  StepProfile p;
  p.samples = 32;
  p.forward_seconds = 0.010;
  p.backward_seconds = 0.020;
  p.optimizer_seconds = 0.001;
  p.parameters = even_groups(bytes, groups);
  p.input_bytes = 600e3;
  p.output_bytes = 4e3;
  p.loss_seconds = 0.0001;
  return p;
}
const Cluster kCluster{8, {6e-6, 100e9}, {20e-6, 10e9}, false};

}  // namespace

TEST_CASE("all-reduces cost what their formulas say, and a ring what its messages do", "[simulate]") {
  const double s = 100e6, a = kLink.latency, b = kLink.bandwidth;
  for (const int n : {2, 3, 4, 8, 64}) {
    CHECK(all_reduce_seconds(AllReduce::ring, s, n, kLink) == Approx(2 * (n - 1) * (a + s / (n * b))));
    CHECK(all_reduce_seconds(AllReduce::ring, s, n, kLink) ==
          Approx(simulate_ring_messages(s, n, std::vector<Link>(static_cast<size_t>(n), kLink))));
    CHECK(all_reduce_seconds(AllReduce::direct, s, n, kLink) == Approx(2 * (a + (n - 1) * s / (n * b))));
    // No algorithm can send fewer than 2 (n-1)/n S bytes from each device.
    for (const AllReduce algorithm : list_all_reduce_algorithms())
      CHECK(all_reduce_seconds(algorithm, s, n, kLink) >= 2 * (n - 1) * s / (n * b));
  }
  // Latency grows with log2 n for a tree, and with n for a ring. The ring sends the fewest bytes.
  CHECK(all_reduce_seconds(AllReduce::tree, 0, 1024, kLink) == Approx(4 * 10 * a));
  CHECK(all_reduce_seconds(AllReduce::tree, 1e3, 1024, kLink) < all_reduce_seconds(AllReduce::ring, 1e3, 1024, kLink));
  CHECK(all_reduce_seconds(AllReduce::ring, 1e10, 8, kLink) < all_reduce_seconds(AllReduce::tree, 1e10, 8, kLink));
  for (const AllReduce algorithm : list_all_reduce_algorithms()) CHECK(all_reduce_seconds(algorithm, s, 1, kLink) == 0);
}

TEST_CASE("on several nodes a ring goes at the pace of its slowest link, and a hierarchy sends less between nodes",
          "[simulate]") {
  const double s = 100e6;
  std::vector<Link> links(16, kCluster.intra_node_link);
  links[7] = links[15] = kCluster.inter_node_link;
  // The message simulation may run ahead inside nodes, so it is never slower than the formula, which assumes lockstep.
  const double ring = all_reduce_seconds(AllReduce::ring, s, 16, kCluster);
  CHECK(ring == Approx(2 * 15 * kCluster.inter_node_link.seconds(s / 16)));
  CHECK(simulate_ring_messages(s, 16, links) <= ring * 1.0001);
  const double hierarchical = all_reduce_seconds(AllReduce::hierarchical, s, 16, kCluster);
  CHECK(hierarchical == Approx(2 * 7 * (6e-6 + s / 8 / 100e9) + 2 * (20e-6 + s / 2 / 10e9)));
  CHECK(hierarchical < ring);
  Cluster wide = kCluster;
  wide.inter_node_link_per_device = true;
  CHECK(all_reduce_seconds(AllReduce::hierarchical, s, 16, wide) < hierarchical);
  CHECK(all_reduce_seconds(AllReduce::fastest, s, 16, kCluster) <= hierarchical);
  CHECK(all_reduce_seconds(AllReduce::fastest, s, 8, kCluster) ==
        all_reduce_seconds(AllReduce::fastest, s, 8, kCluster.intra_node_link));
}

TEST_CASE("a broadcast by a chain takes what the best number of blocks takes, message by message", "[simulate]") {
  for (const int n : {2, 3, 8}) {
    double least = INFINITY;
    for (int k = 1; k < 400; ++k) least = std::min(least, simulate_chain_messages(20e6, n, k, kLink));
    // The formula rounds k down.
    CHECK(broadcast_seconds(Broadcast::chain, 20e6, n, kLink) == Approx(least).epsilon(1e-3));
    CHECK(broadcast_seconds(Broadcast::flat, 20e6, n, kLink) == Approx((n - 1) * kLink.seconds(20e6)));
  }
  CHECK(broadcast_seconds(Broadcast::binomial, 20e6, 8, kLink) == Approx(3 * kLink.seconds(20e6)));
  CHECK(scatter_seconds(1e6, 5, kLink) == Approx(4 * kLink.seconds(1e6)));
}

TEST_CASE("a fit finds the link that the points were made with, and refuses points that say nothing", "[simulate]") {
  std::vector<LinkPoint> messages, rings;
  for (double bytes = 1e3; bytes < 1e9; bytes *= 10) {
    messages.push_back({bytes, kLink.seconds(bytes), 2});
    for (const int n : {2, 4, 8}) rings.push_back({bytes, all_reduce_seconds(AllReduce::ring, bytes, n, kLink), n});
  }
  for (const LinkFit& fit : {fit_link(messages), fit_ring(rings)}) {
    CHECK(fit.link.latency == Approx(kLink.latency));
    CHECK(fit.link.bandwidth == Approx(kLink.bandwidth));
    CHECK(fit.largest_error < 1e-9);
  }
  Link copying = kLink;
  copying.per_byte = 1e-10;
  for (LinkPoint& p : rings) p.seconds = all_reduce_seconds(AllReduce::ring, p.bytes, p.devices, copying);
  const LinkFit fit = fit_ring_with_copies(rings);
  CHECK(fit.link.latency == Approx(copying.latency));
  CHECK(fit.link.bandwidth == Approx(copying.bandwidth));
  CHECK(fit.link.per_byte == Approx(copying.per_byte));
  for (const AllReduce algorithm : list_all_reduce_algorithms())
    CHECK(all_reduce_seconds(algorithm, 1e6, 4, copying) ==
          Approx(all_reduce_seconds(algorithm, 1e6, 4, kLink) + 1e-4));
  // Measurements with one number of devices cannot separate copies from a lower bandwidth. The fit then chooses one.
  CHECK(fit_ring_with_copies({{1e6, 1e-3, 4}, {2e6, 1.9e-3, 4}, {4e6, 3.8e-3, 4}}).largest_error < 0.02);
  // Instead of the negative latency of the line through the points.
  CHECK(fit_link({{1e6, 1e-3}, {2e6, 2.2e-3}}).link.latency == 0);
  CHECK_THROWS_WITH(fit_link({{1e6, 1e-3}}), Contains("1 points") && Contains("2 or more"));
  CHECK_THROWS_WITH(fit_link({{1e6, 1e-3}, {1e6, 2e-3}}), Contains("the same size"));
  CHECK_THROWS_WITH(fit_link({{1e6, 1e-3}, {2e6, -1}}), Contains("-1 s"));
}

TEST_CASE("a step of DDP hides what fits under the backward, and exposes the rest", "[simulate]") {
  const StepProfile p = measure_profile(100e6, 10);
  // One bucket per 10 MB. All but the last are sent during the backward, which takes 2 ms per bucket.
  const double bucket = all_reduce_seconds(AllReduce::ring, 10e6, 8, kCluster);
  REQUIRE(bucket < 0.002);
  DdpOptions options;
  options.all_reduce = AllReduce::ring;
  const DdpPrediction ddp = predict_ddp(p, kCluster, 8, 10e6, options);
  REQUIRE(ddp.buckets.size() == 10);
  CHECK(ddp.exposed == Approx(bucket));
  CHECK(ddp.hidden == Approx(9 * bucket));
  CHECK(ddp.seconds == Approx(0.031 + bucket));
  CHECK(ddp.samples_per_second == Approx(8 * 32 / ddp.seconds));
  options.overlap = false;
  CHECK(predict_ddp(p, kCluster, 8, 10e6, options).exposed == Approx(10 * bucket));
  // On a slow link, the communication lane is always busy: the last bucket waits for all buckets before it.
  Cluster slow = kCluster;
  slow.intra_node_link.bandwidth = 1e9;
  options.overlap = true;
  const DdpPrediction late = predict_ddp(p, slow, 8, 10e6, options);
  CHECK(late.exposed == Approx(0.002 + late.communication - 0.020));
  CHECK(predict_ddp(p, kCluster, 1, 10e6).seconds == Approx(one_device_seconds(p)));
  // With gradient accumulation, only the last pass pays for an all-reduce.
  options.passes = 4;
  CHECK(predict_ddp(p, kCluster, 8, 10e6, options).seconds == Approx(4 * 0.030 + 0.001 + bucket));
}

TEST_CASE("DataParallel hides nothing, and its first device does the optimizer's and the loss's work", "[simulate]") {
  const StepProfile p = measure_profile(100e6, 10);
  const Link& link = kCluster.intra_node_link;
  const DpPrediction dp = predict_dp(p, kCluster, 4);
  const double parameters = 3 * link.seconds(100e6);
  CHECK(dp.replicate == Approx(parameters));
  CHECK(dp.reduce == Approx(parameters));
  CHECK(dp.scatter == Approx(3 * link.seconds(32 * 600e3)));
  CHECK(dp.gather == Approx(6 * link.seconds(32 * 4e3)));
  CHECK(dp.loss == Approx(4 * p.loss_seconds));
  CHECK(dp.seconds == Approx(0.031 - 0.0001 + dp.loss + dp.communication));
  DpOptions with_loss;
  with_loss.loss_in_replicas = true;
  CHECK(predict_dp(p, kCluster, 4, with_loss).seconds < dp.seconds);
  CHECK(predict_ddp(p, kCluster, 4, 25e6).seconds < dp.seconds);
  CHECK(predict_dp(p, kCluster, 1).seconds == Approx(one_device_seconds(p)));
  CHECK_THROWS_WITH(predict_dp(p, kCluster, 16), Contains("16 devices") && Contains("1 to 8"));
}

TEST_CASE("the best bucket lies near sqrt(S B a), and both very small and very large ones are slower", "[simulate]") {
  StepProfile p = measure_profile(100e6, 2000);
  const Cluster cluster{8, {50e-6, 5e9}, {50e-6, 5e9}, false};
  DdpOptions options;
  options.all_reduce = AllReduce::ring;
  const BucketSweep sweep = best_bucket_bytes(p, cluster, 8, options);
  CHECK(sweep.best.seconds < sweep.points.front().seconds);
  CHECK(sweep.best.seconds < sweep.points.back().seconds);
  const double from_estimate = predict_ddp(p, cluster, 8, sweep.estimated_bucket_bytes, options).seconds;
  CHECK(from_estimate < sweep.best.seconds * 1.05);
}

TEST_CASE("the cost model refuses links, clusters and steps that cannot be", "[simulate]") {
  CHECK_THROWS_WITH(all_reduce_seconds(AllReduce::ring, 1e6, 4, Link{1e-6, 0}), Contains("bandwidth is 0"));
  CHECK_THROWS_WITH(all_reduce_seconds(AllReduce::ring, 1e6, 4, Link{-1, 1e9}), Contains("latency is -1"));
  CHECK_THROWS_WITH(all_reduce_seconds(AllReduce::ring, 1e6, 0, kLink), Contains("n is 0"));
  CHECK_THROWS_WITH(find_link("nvlink"), Contains("nvlink_a100") && Contains("ethernet_10"));
  CHECK_THROWS_WITH(find_link("pcie3_x16", 2), Contains("efficiency is 2"));
  CHECK(find_link("ethernet_10").bandwidth == Approx(1e9));
  CHECK_THROWS_WITH(all_reduce_seconds(AllReduce::ring, 1e6, 4, Link{0, 1e9, -1}), Contains("per_byte is -1"));
  Cluster none = kCluster;
  none.devices_per_node = 0;
  CHECK_THROWS_WITH(predict_ddp(measure_profile(1e6, 1), none, 2, 1e6), Contains("devices_per_node is 0"));
  CHECK_THROWS_WITH(predict_ddp(measure_profile(1e6, 1), kCluster, 2, 0), Contains("bucket_bytes is 0"));
  StepProfile p = measure_profile(1e6, 1);
  p.backward_seconds = NAN;
  CHECK_THROWS_WITH(predict_ddp(p, kCluster, 2, 1e6), Contains("backward_seconds is nan"));
}

TEST_CASE("the fixed part of a step stays when samples become fewer", "[simulate]") {
  StepProfile p = measure_profile(1e6, 1);
  p.fixed_fraction = 0.4;
  const StepProfile half = scale_to_samples(p, 16);
  CHECK(half.forward_seconds == Approx(0.010 * (0.4 + 0.6 / 2)));
  CHECK(scale_to_samples(half, 32).backward_seconds == Approx(0.020));
  CHECK(half.optimizer_seconds == p.optimizer_seconds);
}

TEST_CASE("the exposed time of random buckets is the longest way through them", "[simulate]") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    StepProfile p = measure_profile(0, 1);
    p.parameters.resize(1 + random() % 20);
    for (ParameterGroup& group : p.parameters) group = {std::floor(1e7 * uniform(random)), uniform(random)};
    const Cluster cluster{8, {1e-4 * uniform(random), 1e9 + 2e10 * uniform(random)}, {}, false};
    const DdpPrediction ddp = predict_ddp(p, cluster, 8, 1 + 2e7 * uniform(random));
    // After the last time that the lane waited for a bucket, this and all later buckets are sent without a gap.
    double end = 0, sent = 0;
    for (size_t k = ddp.buckets.size(); k-- > 0;) {
      sent += all_reduce_seconds(AllReduce::fastest, ddp.buckets[k].bytes, 8, cluster);
      end = std::max(end, ddp.buckets[k].ready + sent);
    }
    CHECK(ddp.exposed == Approx(end - p.backward_seconds).margin(1e-12));
    CHECK(ddp.hidden + ddp.exposed == Approx(ddp.communication));
    CHECK(ddp.buckets.back().ready == Approx(p.backward_seconds));
    double bytes = 0;
    for (const BucketTimes& bucket : ddp.buckets) bytes += bucket.bytes;
    CHECK(bytes == Approx(gradient_bytes(p)));
  }
}

TEST_CASE("DataParallel pays for launches of one thread, new replicas and every pass's gradients", "[simulate]") {
  StepProfile p = measure_profile(100e6, 10);
  p.fixed_fraction = 0.25;
  DpOptions options;
  const DpPrediction plain = predict_dp(p, kCluster, 4, options);
  options.serial_launch = true;
  CHECK(predict_dp(p, kCluster, 4, options).forward == Approx(plain.forward * (0.75 + 4 * 0.25)));
  options.serial_launch = false;
  options.persistent_replicas = false;
  options.replicate_seconds = 0.003;
  CHECK(predict_dp(p, kCluster, 4, options).replicate == Approx(plain.replicate + 3 * 0.003));
  options.persistent_replicas = true;
  options.passes = 5;
  const DpPrediction passes = predict_dp(p, kCluster, 4, options);
  CHECK(passes.reduce == Approx(5 * plain.reduce));
  CHECK(passes.replicate == Approx(plain.replicate));
  CHECK(passes.optimizer == plain.optimizer);
  CHECK(passes.samples_per_second > plain.samples_per_second);
}

TEST_CASE("scaling counts samples as it says, and one device is all efficient", "[simulate]") {
  const StepProfile p = measure_profile(100e6, 10);
  ModeOptions modes;
  for (const ScalingRow& row : predict_weak(p, kCluster, {1, 2, 8, 64}, modes)) {
    CHECK(row.samples == 32);
    CHECK(row.ddp_efficiency == Approx(one_device_seconds(p) / row.ddp.seconds));
    CHECK(row.dp.has_value() == (row.devices <= 8));
    if (row.devices == 1) CHECK((row.ddp_efficiency == Approx(1) && row.dp_efficiency == Approx(1)));
  }
  const std::vector<ScalingRow> strong = predict_strong(p, kCluster, {1, 2, 8, 64, 1024}, 256, modes);
  REQUIRE(strong.size() == 4);  // 256 samples are too few for 1024 devices
  for (const ScalingRow& row : strong) {
    CHECK(row.samples == Approx(256.0 / row.devices));
    CHECK(row.ddp.samples_per_second * row.ddp.seconds == Approx(256));
  }
  CHECK(strong[0].ddp_efficiency == Approx(1));
  CHECK(strong[0].ddp.forward == Approx(8 * p.forward_seconds));  // passes of 32 samples
}
