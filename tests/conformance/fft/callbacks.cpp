// Load and store functions that cuFFT calls: on a device whose worker waits for such plans, and
// fails a request that has none, so that nothing else is tested.
#include "function_cases.hpp"

#include <troupe/core/system.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::value;
using std::chrono::steady_clock;

class FftCallbacks : public testing::Test {
 protected:
  void SetUp() override {
    const auto usual = make_runner();
    device* const its = usual->its_device();
    if (its == nullptr || !its->description().architecture.starts_with("sm_")) {
      GTEST_SKIP() << "only of a GPU";
    }
    device_.emplace(made_with(elementwise_method::callbacks));
    runner_ = make_runner_on(*device_);
    ASSERT_NE(runner_, nullptr);
  }
  void TearDown() override {
    runner_.reset();
    if (device_) {
      EXPECT_EQ(device_->generation(), 1u) << "a request has ended its worker";
    }
  }
  device made_with(elementwise_method functions) {
    device made = system_.device(next_++, {.backend = backend_kind::cuda,
                                           .gpu = gpu_choice::number(0),
                                           .standby = false,
                                           .methods = {.elementwise = functions}});
    EXPECT_TRUE(made.wait_until_ready());
    return made;
  }
  void expect(const functional_case& f) {
    if (!HasFailure()) check(f, *runner_);
  }

  troupe::system system_;
  std::int32_t next_ = 0;
  std::optional<device> device_;
  std::unique_ptr<runner> runner_;
};

using enum arrangement;

TEST_F(FftCallbacks, LoadWhatIsTransformed) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    const dtype complex = element_type(precision, true);
    for (const auto& [size, rank] : {std::pair(scene::extents{12}, 1),
                                     {{3, 7}, 1},
                                     {{4, 6}, 2},
                                     {{2, 3, 5, 4}, 3},
                                     {{5, 1024}, 1}}) {
      const fourier_case c{.precision = precision, .size = size, .rank = rank};
      expect({sort::c2c, c, dtype::i16, complex, windowed(), none(), packed, gaps});
      expect({sort::c2c, c, dtype::f16, complex, paired(), none(), gaps, packed});
      expect({sort::r2c, c, dtype::u8, complex, moved(), none(), packed, packed});
      expect({sort::c2r, c, dtype::c64, precision, scaled(), none(), packed, packed});
    }
  }
}

TEST_F(FftCallbacks, StoreWhatWasTransformed) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    const dtype complex = element_type(precision, true);
    for (const auto& [size, rank] : {std::pair(scene::extents{12}, 1),
                                     {{3, 7}, 1},
                                     {{4, 6}, 2},
                                     {{2, 3, 5, 4}, 3},
                                     {{5, 1024}, 1}}) {
      fourier_case c{.precision = precision, .size = size, .rank = rank};
      expect({sort::c2c, c, complex, complex, none(), filtered(precision), packed, packed});
      c.scale = fft::normalization::by_n;
      expect({sort::r2c, c, precision, complex, none(), conjugated(), packed, gaps});
      expect({sort::c2c, c, complex, dtype::f32, none(), power(), packed, packed});
      expect({sort::c2r, c, complex, dtype::bf16, none(), windowed(), packed, packed});
      expect({sort::c2r, c, complex, precision, none(), moved(), packed, gaps});
    }
  }
}

TEST_F(FftCallbacks, LoadAndStore) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    for (const auto& [size, rank] :
         {std::pair(scene::extents{2, 3, 9}, 1), {{3, 5, 7}, 2}, {{3, 4096}, 1}}) {
      const fourier_case c{
          .precision = precision, .size = size, .rank = rank, .scale = fft::normalization::ortho};
      expect({sort::c2c, c, dtype::c64, dtype::f16, filtered(precision), power(), packed, gaps});
      expect({sort::r2c, c, dtype::i16, dtype::f32, moved(), power(), gaps, packed});
      expect({sort::c2r, c, dtype::c64, dtype::f16, scaled(), windowed(), packed, packed});
    }
  }
}

// cuFFT does these in several kernels, of which the first loads and the last stores.
TEST_F(FftCallbacks, LoadAndStoreLongOnes) {
  for (const auto& [size, rank] : {std::pair(scene::extents{1 << 18}, 1), {{32, 64, 128}, 3}}) {
    const fourier_case c{.precision = dtype::f32, .size = size, .rank = rank};
    expect(
        {sort::c2c, c, dtype::i16, dtype::c64, windowed(), filtered(dtype::f32), packed, packed});
    expect({sort::r2c, c, dtype::i16, dtype::f32, windowed(), power(), packed, packed});
    expect({sort::c2r, c, dtype::c64, dtype::f32, scaled(), windowed(), packed, packed});
  }
}

TEST_F(FftCallbacks, WorkInPlace) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    const dtype complex = element_type(precision, true);
    for (const auto& [size, rank] : {std::pair(scene::extents{7}, 1),
                                     {{3, 10}, 1},
                                     {{4, 6}, 2},
                                     {{3, 5, 7}, 2},
                                     {{3, 2048}, 1}}) {
      const fourier_case c{
          .precision = precision, .size = size, .rank = rank, .scale = fft::normalization::by_n};
      for (const arrangement a : {packed, gaps}) {
        // Rows of a matrix would have to be a multiple of the distance of neighbours apart.
        if (a == gaps && rank > 1) continue;
        expect({sort::c2c, c, complex, complex, filtered(precision), conjugated(), a, a, true});
      }
      expect({sort::r2c, c, precision, complex, moved(), conjugated(), packed, packed, true});
      expect({sort::c2r, c, complex, precision, scaled(), windowed(), packed, packed, true});
    }
  }
}

TEST_F(FftCallbacks, KnowWhereTheyAre) {
  const fourier_case c{.precision = dtype::f64, .size = {3, 8}};
  scene s(*runner_);
  auto& in = elements(s, dtype::c128, c.size);
  auto& out = elements(s, dtype::c128, c.size);
  const auto by_index = function::of(1, [](auto x) {
    return elementwise::complex(x[0]).real * (elementwise::index(0) + 10 * elementwise::index(1));
  });
  s.run(fft::c2c{.in = in.view, .out = out.view, .load = by_index});
  std::vector<number> x = in.values;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = x[i].real() * static_cast<double>(i % 8 + 10 * (i / 8));
  expect_transform(s, c, x, numbers_now(s, out, true));
}

// Subnormal elements are no zeros, whatever cuFFT's own kernels make of such numbers.
TEST_F(FftCallbacks, KeepTheSmallestElements) {
  const fourier_case c{.precision = dtype::f32, .size = {8}};
  scene s(*runner_);
  auto& in = elements(s, dtype::e4m3, c.size);
  auto& out = elements(s, dtype::c64, c.size);
  s.fill(in, number(0.001953125));  // 2⁻⁹, the least
  s.run(fft::c2c{.in = in.view, .out = out.view, .load = function::of(1, [](auto x) {
                                                   return x[0] * 1024.0;
                                                 })});
  std::vector<number> x = in.values;
  for (number& one : x)
    one *= 1024.0;
  ASSERT_EQ(x[0], number(2.0));
  expect_transform(s, c, x, numbers_now(s, out, true));
}

/// Requests that share a plan, each with operands and constants of its own.
class many_requests {
 public:
  static constexpr std::int64_t n = 256;
  static constexpr std::int64_t rows = 40;

  explicit many_requests(device& on, std::size_t count) : on_(on) {
    std::vector<std::complex<float>> data(rows * n);
    for (std::size_t i = 0; i < count; ++i) {
      // An impulse in each row: its transform is 1 everywhere.
      for (std::size_t k = 0; k < data.size(); ++k)
        data[k] = k % n == 0 ? 1.0f : 0.0f;
      in_.push_back(on.tensor<std::complex<float>>({rows, n}).value());
      out_.push_back(on.tensor<std::complex<float>>({rows, n}).value());
      factor_.push_back(on.tensor<float>({n}).value());
      on.copy(std::span(std::as_const(data)), in_.back()).get();
      const std::vector<float> factors(n, static_cast<float>(i + 1));
      on.copy(std::span(factors), factor_.back()).get();
    }
  }
  [[nodiscard]] fft::c2c request(std::size_t i, int round) const {
    const double addend = 0.5 * round;
    return {.in = in_[i],
            .out = out_[i],
            .store = function::of(
                2, [&](auto x) { return elementwise::complex(x[0]).real * x[1] + value(addend); }),
            .store_operands = {factor_[i]}};
  }
  void expect(std::size_t i, int round) {
    std::vector<std::complex<float>> now(rows * n);
    on_.copy(out_[i], std::span(now)).get();
    const auto wanted = static_cast<float>(static_cast<double>(i + 1) + 0.5 * round);
    for (const std::complex<float> one : now) {
      ASSERT_NEAR(one.real(), wanted, 1e-4) << "request " << i << ", round " << round;
      ASSERT_EQ(one.imag(), 0.0f);
    }
  }

 private:
  device& on_;
  std::vector<tensor<std::complex<float>>> in_;
  std::vector<tensor<std::complex<float>>> out_;
  std::vector<tensor<float>> factor_;
};

// One plan has one place for what its callbacks read, while many of its requests are under way.
TEST_F(FftCallbacks, AreGivenWhatTheirOwnRequestSays) {
  constexpr std::size_t count = 24;
  many_requests all(*device_, count);
  const library_actor lane = device_->library("fft");
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    std::vector<future<void>> sent;
    for (std::size_t i = 0; i < count; ++i)
      sent.push_back(lane.ask(all.request(i, round)));
    for (future<void>& one : sent)
      one.get();
    for (std::size_t i = 0; i < count; ++i)
      all.expect(i, round);
  }
}

// Results are right while passes serve, when both ways take turns, and after that.
TEST_F(FftCallbacks, TakeOverFromPasses) {
  device usual = made_with(elementwise_method::automatic);
  constexpr std::size_t count = 4;
  many_requests all(usual, count);
  const auto end = steady_clock::now() + std::chrono::seconds(5);
  int round = 0;
  for (; steady_clock::now() < end && !HasFailure(); ++round) {
    for (std::size_t i = 0; i < count; ++i)
      usual.ask(all.request(i, round % 100)).get();
    for (std::size_t i = 0; i < count; ++i)
      all.expect(i, round % 100);
  }
  EXPECT_GT(round, 20);
  EXPECT_EQ(usual.generation(), 1u);
}

// Work that callbacks do not do is done in passes, which this device's worker refuses to do.
TEST_F(FftCallbacks, AreNotForEveryLayout) {
  scene s(*runner_);
  auto& in = elements(s, dtype::c64, {512, 512});
  auto& out = elements(s, dtype::c64, {512, 512}, reversed);
  s.keep_layouts();
  const auto answer = s.attempt(
      fft::c2c{.in = in.view, .out = out.view, .store = function::of(1, [](auto x) {
                                                 return elementwise::complex(x[0]) * value(2.0);
                                               })});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::unsupported);
  EXPECT_NE(answer.error().message.find("no callbacks: store has operands that are read or written "
                                        "in tiles"),
            std::string::npos)
      << answer.error().to_string();
}

}  // namespace
}  // namespace troupe::conformance
