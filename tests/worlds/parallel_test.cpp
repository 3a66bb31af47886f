// Weights on all devices, and gradients that are averaged over them.
#include "worlds/accumulator.hpp"

#include <troupe/parallel.hpp>

#include <array>
#include <csignal>
#include <optional>

namespace troupe::worlds {
namespace {

std::vector<float> content(device on, const any_tensor& t) {
  std::vector<float> got(static_cast<std::size_t>(t.count()));
  const auto copied = on.copy(t, got).get_result();
  EXPECT_TRUE(copied) << copied.error().to_string();
  return got;
}

TEST(Weights, AreOnAllDevicesByOneBroadcast) {
  system s;
  auto devices = devices_of(s, 3);
  const world w = s.world(devices);
  const std::array<any_tensor, 2> model{devices[1].tensor<float>({2, 3}).value(),
                                        devices[1].tensor<float>({5}).value()};
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(devices[1].tell(memory::fill{.to = model[i], .value = 1.0 + double(i)}));
  auto all = parallel::replicate(w, model, 1, placement::own).value();
  EXPECT_TRUE(all.done.get_result());
  EXPECT_TRUE(all.on[1][0].same_view(model[0]));
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(content(devices[rank], all.on[rank][0]), std::vector<float>(6, 1));
    EXPECT_EQ(content(devices[rank], all.on[rank][1]), std::vector<float>(5, 2));
  }
  EXPECT_TRUE(devices[0].freeze(all.on[0][1]).get_result());
  EXPECT_EQ(parallel::replicate(w, model, 3).error().code, errc::invalid_argument);
  EXPECT_EQ(parallel::replicate(w, model, 0).value().done.get_result().error().code,
            errc::foreign_buffer);
}

class Buckets : public testing::Test {
 protected:
  system s_;
  std::vector<device> devices_ = devices_of(s_, 2);
  world w_ = s_.world(devices_);
  // Together with the gaps behind them: 2, 1, 1 and 5 pieces of 256 bytes.
  std::vector<any_tensor> parameters_ = make();

  std::vector<any_tensor> make() {
    std::vector<any_tensor> all;
    for (const std::int64_t n : {65, 3, 64, 300})
      all.push_back(devices_[0].tensor<float>({n, 1}).value());
    all.push_back(devices_[0].tensor<double>({}).value());
    return all;
  }
  void send(parallel::gradient_buckets& buckets, std::size_t rank, std::size_t i, double value) {
    EXPECT_TRUE(devices_[rank].tell(memory::fill{.to = buckets.gradient(rank, i), .value = value}));
    const auto sent = buckets.sent(rank, i);
    EXPECT_TRUE(sent) << sent.error().to_string();
  }
};

TEST_F(Buckets, AreAveragedOnceTheLastOfTheirGradientsHasBeenSent) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  for (const bool out_of_place : {false, true}) {
    auto buckets = parallel::gradient_buckets::create(w_, parameters_,
                                                      {.bytes = 1024, .out_of_place = out_of_place})
                       .value();
    EXPECT_EQ(buckets.bucket_count(), 3U) << "300; 65, 3 and 64; and the f64";
    for (int step = 1; step <= 3; ++step) {
      const auto expected = [&](std::size_t i) { return float(step) * 10 + float(i) + 1; };
      // In the second step rank 0 is killed in the middle of an average, in which it waits for
      // rank 1.
      std::optional<mapped_tensor> held;
      if (step == 2) held = devices_[1].mapped(buckets.gradient(1, 0), access::read).get();
      for (std::size_t i = parameters_.size(); i-- > 0;) {
        for (std::size_t rank = 0; rank < 2; ++rank)
          send(buckets, rank, i, step * 10.0 + double(i) + 2.0 * double(rank));
        if (step == 1 && i == 3) {
          // The others have not been sent yet.
          EXPECT_EQ(content(devices_[1], buckets.average(1, i)),
                    std::vector<float>(300, expected(i)));
        }
      }
      if (held) {
        EXPECT_TRUE(comes_true([&] {
          const auto under_way = w_.health().under_way;
          return !under_way.empty() && under_way.back().ranks[0] == world_operation::progress::runs;
        }));
        const std::uint64_t replayed = devices_[0].statistics().replayed;
        EXPECT_EQ(::kill(*devices_[0].worker_pid(), SIGKILL), 0);
        EXPECT_TRUE(comes_true([&] { return devices_[0].statistics().replayed > replayed; }));
        held->unmap();
      }
      for (std::size_t rank = 0; rank < 2; ++rank) {
        for (std::size_t i = 0; i < 4; ++i) {
          const auto& average = buckets.average(rank, i);
          EXPECT_EQ(average.same_view(buckets.gradient(rank, i)), !out_of_place);
          EXPECT_EQ(content(devices_[rank], average),
                    std::vector<float>(std::size_t(average.count()), expected(i)))
              << step << ' ' << rank << ' ' << i;
        }
      }
    }
  }
}

TEST_F(Buckets, AGradientIsSentOnceInAStepAndAFailedStepDoesNotSpoilTheNext) {
  EXPECT_FALSE(parallel::gradient_buckets::create(w_, parameters_, {.bytes = 0}));
  auto buckets = parallel::gradient_buckets::create(w_, parameters_).value();
  EXPECT_EQ(buckets.bucket_count(), 2U);
  EXPECT_EQ(buckets.sent(2, 4).error().code, errc::invalid_argument);
  EXPECT_EQ(buckets.sent(1, 5).error().code, errc::invalid_argument);
  EXPECT_TRUE(buckets.sent(1, 4));
  EXPECT_EQ(buckets.sent(1, 4).error().code, errc::invalid_argument);
  EXPECT_TRUE(buckets.sent(0, 4)) << "the f64 is averaged";
  devices_[1].stop();
  EXPECT_TRUE(buckets.sent(0, 0));
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_TRUE(buckets.sent(0, i) && buckets.sent(1, i));
  EXPECT_EQ(buckets.sent(1, 0).error().code, errc::device_stopped);
  EXPECT_TRUE(devices_[1].restart());
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      send(buckets, rank, i, double(rank));
  }
  EXPECT_EQ(content(devices_[0], buckets.average(0, 3)), std::vector<float>(300, 0.5F));
}

}  // namespace
}  // namespace troupe::worlds
