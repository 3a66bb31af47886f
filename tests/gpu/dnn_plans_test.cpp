// Plans of cuDNN on a GPU: their results, that they outlive their worker, and that no request waits
// for another's plan. Without a GPU there is nothing to test here.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/dnn.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/memory/convert.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point then) {
  return std::chrono::duration<double, std::milli>(clock::now() - then).count();
}

struct convolution_shape {
  std::int64_t n = 4, c = 16, k = 32, height = 14, width = 15, taps = 3, padding = 1;
  bool channels_last = false;
  dtype type = dtype::f32;
};

/// A folder of this test's alone, in which workers leave plans to later programs.
class own_cache {
 public:
  own_cache() {
    std::filesystem::remove_all(path_);
    ::setenv("XDG_CACHE_HOME", path_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~own_cache() { std::filesystem::remove_all(path_); }
  own_cache(const own_cache&) = delete;
  own_cache& operator=(const own_cache&) = delete;

  /// Changes a byte of each plan that is kept. How many there are.
  [[nodiscard]] int damage() const {
    int count = 0;
    for (const auto& one : std::filesystem::directory_iterator(path_ / "troupe" / "blobs")) {
      std::fstream file(one.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(700);
      file.put('\x7f');
      ++count;
    }
    return count;
  }

 private:
  const std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("troupe-plans-" + std::to_string(::getpid()));
};

class DnnPlans : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_.description().architecture.empty()) GTEST_SKIP() << "no GPU";
    ASSERT_TRUE(gpu_.wait_until_ready());
  }

  std::vector<float> drawn(std::int64_t count) {
    std::uniform_int_distribution<int> some(-8, 8);
    std::vector<float> made(static_cast<std::size_t>(count));
    for (float& one : made)
      one = static_cast<float>(some(random_)) / 8;
    return made;
  }

  /// [a, b, c, d] in the type, whose numbers are `content`, channels last or first.
  any_tensor image(const std::vector<float>& content, std::vector<std::int64_t> e, bool last,
                   dtype type) {
    std::vector<float> ordered(content.size());
    std::size_t at = 0;
    for (std::int64_t a = 0; a < e[0]; ++a) {
      for (std::int64_t b = 0; b < e[1]; ++b) {
        for (std::int64_t h = 0; h < e[2]; ++h) {
          for (std::int64_t w = 0; w < e[3]; ++w, ++at) {
            const std::int64_t to = last ? ((a * e[2] + h) * e[3] + w) * e[1] + b
                                         : ((a * e[1] + b) * e[2] + h) * e[3] + w;
            ordered[static_cast<std::size_t>(to)] = content[at];
          }
        }
      }
    }
    const shape packed = last ? shape({e[0], e[2], e[3], e[1]}) : shape({e[0], e[1], e[2], e[3]});
    auto staged = gpu_.tensor<float>(packed).value();
    gpu_.copy(std::span<const float>(ordered), staged).get();
    auto made = gpu_.allocate(type, packed).value();
    gpu_.ask(memory::convert{.from = staged, .to = made}).get();
    return last ? made.permute({0, 3, 1, 2}).value() : made;
  }

  std::vector<float> content(const any_tensor& t, bool last) {
    const any_tensor packed = last ? t.permute({0, 2, 3, 1}).value() : t;
    auto staged = gpu_.tensor<float>(shape(packed.extents())).value();
    gpu_.ask(memory::convert{.from = packed, .to = staged}).get();
    std::vector<float> ordered(static_cast<std::size_t>(staged.count()));
    gpu_.copy(staged, std::span(ordered)).get();
    if (!last) return ordered;
    std::vector<float> made(ordered.size());
    const auto e = t.extents();
    std::size_t at = 0;
    for (std::int64_t a = 0; a < e[0]; ++a) {
      for (std::int64_t b = 0; b < e[1]; ++b) {
        for (std::int64_t h = 0; h < e[2]; ++h) {
          for (std::int64_t w = 0; w < e[3]; ++w, ++at)
            made[at] = ordered[static_cast<std::size_t>(((a * e[2] + h) * e[3] + w) * e[1] + b)];
        }
      }
    }
    return made;
  }

  struct made_convolution {
    dnn::convolution_forward request;
    std::vector<double> expected;
    double bound = 0;
  };
  made_convolution forward(const convolution_shape& s) {
    const auto x = drawn(s.n * s.c * s.height * s.width);
    const auto w = drawn(s.k * s.c * s.taps * s.taps);
    const std::int64_t oh = s.height + 2 * s.padding - s.taps + 1;
    const std::int64_t ow = s.width + 2 * s.padding - s.taps + 1;
    made_convolution made;
    made.request = {
        .x = image(x, {s.n, s.c, s.height, s.width}, s.channels_last, s.type),
        .w = image(w, {s.k, s.c, s.taps, s.taps}, s.channels_last, s.type),
        .y = image(std::vector<float>(static_cast<std::size_t>(s.n * s.k * oh * ow), -1),
                   {s.n, s.k, oh, ow}, s.channels_last, s.type),
        .padding = {s.padding}};
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t k = 0; k < s.k; ++k) {
        for (std::int64_t i = 0; i < oh; ++i) {
          for (std::int64_t j = 0; j < ow; ++j) {
            double sum = 0;
            for (std::int64_t c = 0; c < s.c; ++c) {
              for (std::int64_t a = 0; a < s.taps; ++a) {
                for (std::int64_t b = 0; b < s.taps; ++b) {
                  const std::int64_t h = i - s.padding + a;
                  const std::int64_t v = j - s.padding + b;
                  if (h < 0 || v < 0 || h >= s.height || v >= s.width) continue;
                  sum +=
                      static_cast<double>(x[static_cast<std::size_t>(
                          ((n * s.c + c) * s.height + h) * s.width + v)]) *
                      static_cast<double>(
                          w[static_cast<std::size_t>(((k * s.c + c) * s.taps + a) * s.taps + b)]);
                }
              }
            }
            made.expected.push_back(sum);
          }
        }
      }
    }
    made.bound = s.type == dtype::f32 ? 1e-4 : 0.3;
    return made;
  }
  void expect_right(const made_convolution& c, bool last) {
    const auto got = content(c.request.y, last);
    ASSERT_EQ(got.size(), c.expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - c.expected[i]));
    EXPECT_LE(worst, c.bound);
  }

  dnn::plan_counts counts() { return gpu_.ask(dnn::plans{}).get(); }
  static void print(const char* what, const dnn::plan_counts& c) {
    std::cout << what << ": built " << c.built << " restored " << c.restored << " ahead " << c.ahead
              << " damaged " << c.damaged << " failed " << c.failed << " kept " << c.kept
              << " pending " << c.pending << std::endl;
  }
  void kill_worker() {
    const auto before = gpu_.generation();
    const pid_t pid = gpu_.worker_pid().value();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    const auto end = clock::now() + 20s;
    while (gpu_.generation() == before && clock::now() < end)
      std::this_thread::sleep_for(200us);
    ASSERT_GT(gpu_.generation(), before);
  }
  bool standby_is_there() {
    const auto end = clock::now() + 20s;
    while (!gpu_.health().standby_ready && clock::now() < end)
      std::this_thread::sleep_for(5ms);
    return gpu_.health().standby_ready;
  }

  std::mt19937 random_{7};
  own_cache cache_;
  troupe::system system_;
  device gpu_ = system_.device(
      0, {.restarts = {.restarts = 1'000}, .backoff = {.initial = 0ns}, .fault_injection = true});
};

TEST_F(DnnPlans, ConvolveInEveryTypeAndLayout) {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const bool last : {false, true}) {
      SCOPED_TRACE(std::string(to_string(type)) + (last ? " channels last" : " channels first"));
      const auto c = forward({.channels_last = last, .type = type});
      const auto begin = clock::now();
      auto done = gpu_.ask(dnn::convolution_forward(c.request)).get_result();
      std::cout << to_string(type) << (last ? " nhwc " : " nchw ") << milliseconds_since(begin)
                << " ms" << std::endl;
      ASSERT_TRUE(done) << done.error().to_string();
      expect_right(c, last);
    }
  }
  print("after all", counts());
}

TEST_F(DnnPlans, OutliveTheirWorker) {
  std::vector<made_convolution> all;
  for (const std::int64_t k : {8, 24, 40, 64})
    all.push_back(forward({.k = k, .channels_last = true, .type = dtype::bf16}));
  for (made_convolution& one : all) {
    one.request.activation = dnn::activation::relu;
    for (double& y : one.expected)
      y = std::max(y, 0.0);
  }
  for (const made_convolution& one : all) {
    const auto begin = clock::now();
    auto done = gpu_.ask(dnn::convolution_forward(one.request)).get_result();
    ASSERT_TRUE(done) << done.error().to_string();
    std::cout << "first worker " << milliseconds_since(begin) << " ms" << std::endl;
    expect_right(one, true);
  }
  print("first worker", counts());
  for (const bool warm : {true, false, true}) {
    if (warm) {
      ASSERT_TRUE(standby_is_there());
      std::this_thread::sleep_for(500ms);  // it loads ahead
    }
    const auto lost = clock::now();
    kill_worker();
    for (const made_convolution& one : all) {
      const auto begin = clock::now();
      auto done = gpu_.ask(dnn::convolution_forward(one.request)).get_result();
      ASSERT_TRUE(done) << done.error().to_string();
      std::cout << (warm ? "warm" : "cold") << " next worker " << milliseconds_since(begin)
                << " ms, since the loss " << milliseconds_since(lost) << std::endl;
      expect_right(one, true);
    }
    const dnn::plan_counts now = counts();
    print("next worker", now);
    EXPECT_EQ(now.built, 0);
    EXPECT_GE(now.restored + now.ahead, 4);
    EXPECT_EQ(now.damaged, 0);
  }
}

TEST_F(DnnPlans, AreLoadedByTheNextProgramAndBuiltAgainWhereTheyAreDamaged) {
  const auto ask = [&](device& on) {
    std::vector<float> x(8 * 16 * 16, 0.5F);
    std::vector<float> w(8 * 8 * 9, 0.25F);
    auto image = on.tensor<float>({1, 8, 16, 16}).value();
    auto filter = on.tensor<float>({8, 8, 3, 3}).value();
    auto out = on.tensor<float>({1, 8, 16, 16}).value();
    on.copy(std::span<const float>(x), image).get();
    on.copy(std::span<const float>(w), filter).get();
    on.ask(dnn::convolution_forward{.x = image, .w = filter, .y = out, .padding = {1}}).get();
    std::vector<float> y(x.size());
    on.copy(out, std::span(y)).get();
    EXPECT_NEAR(y[17], 8 * 9 * 0.125, 1e-4);
    return on.ask(dnn::plans{}).get();
  };
  EXPECT_EQ(ask(gpu_).built, 1);
  gpu_.stop();
  {
    troupe::system next;
    device gpu = next.device(0, {});
    const auto now = ask(gpu);
    EXPECT_EQ(now.built, 0);
    EXPECT_EQ(now.restored, 1);
  }
  ASSERT_EQ(cache_.damage(), 1);
  {
    troupe::system next;
    device gpu = next.device(0, {});
    const auto now = ask(gpu);
    EXPECT_EQ(now.built, 1) << "what was kept was not what was written";
    EXPECT_EQ(now.restored, 0);
  }
}

TEST_F(DnnPlans, ChosenByTimingAreRightAndKept) {
  auto c = forward({.channels_last = true, .type = dtype::bf16});
  c.request.tuning = dnn::tuning::timed;
  const auto begin = clock::now();
  auto done = gpu_.ask(dnn::convolution_forward(c.request)).get_result();
  ASSERT_TRUE(done) << done.error().to_string();
  std::cout << "timed in " << milliseconds_since(begin) << " ms" << std::endl;
  expect_right(c, true);
  ASSERT_TRUE(standby_is_there());
  kill_worker();
  gpu_.ask(dnn::convolution_forward(c.request)).get();
  expect_right(c, true);
  EXPECT_EQ(counts().built, 0);
}

TEST_F(DnnPlans, AreWaitedForByTheirOwnRequestsOnly) {
  auto buffer = gpu_.tensor<float>({1024}).value();
  gpu_.ask(memory::fill{.to = buffer, .value = 1}).get();
  auto c = forward({.n = 1, .c = 40, .k = 72, .channels_last = true, .type = dtype::bf16});
  c.request.activation = dnn::activation::gelu;
  double worst = 0;
  const auto begin = clock::now();
  auto pending = gpu_.ask(dnn::convolution_forward(c.request));
  int asked = 0;
  while (!pending.ready() && milliseconds_since(begin) < 20'000) {
    const auto one = clock::now();
    gpu_.ask(memory::fill{.to = buffer, .value = 1}).get();
    worst = std::max(worst, milliseconds_since(one));
    ++asked;
  }
  const double all = milliseconds_since(begin);
  auto done = pending.get_result();
  ASSERT_TRUE(done) << done.error().to_string();
  std::cout << "plan took " << all << " ms; " << asked << " others meanwhile, the slowest " << worst
            << " ms" << std::endl;
  print("then", counts());
}

}  // namespace
}  // namespace troupe
