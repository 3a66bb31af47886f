#include "fourier_cases.hpp"

#include <troupe/fft/complex_transforms.hpp>

#include <cmath>
#include <numbers>
#include <thread>

namespace troupe::conformance {
namespace {

fft::c2c request_for(const fourier_case& c, const any_tensor& in, const any_tensor& out) {
  return {.in = in, .out = out, .rank = c.rank, .direction = c.direction, .scale = c.scale};
}

TEST(FftComplexTransforms, AgreeWithTheDefinition) {
  for (fourier_case c : fourier_cases()) {
    for (const auto direction : directions) {
      for (const auto from : arrangements) {
        for (const auto to : arrangements) {
          c.direction = direction;
          scene s;
          s.name(c.text() + " arrangements " + std::to_string(static_cast<int>(from)) + " " +
                 std::to_string(static_cast<int>(to)));
          auto& in = numbers(s, c.precision, true, c.size, from);
          auto& out = numbers(s, c.precision, true, c.size, to);
          s.run(request_for(c, in.view, out.view));
          expect_transform(s, c, numbers_before(in, true), numbers_now(s, out, true));
        }
      }
    }
  }
}

TEST(FftComplexTransforms, WorkInPlace) {
  for (fourier_case c : fourier_cases()) {
    for (const auto direction : directions) {
      for (const auto where : arrangements) {
        c.direction = direction;
        scene s;
        s.name(c.text() + " in place, arrangement " + std::to_string(static_cast<int>(where)));
        auto& both = numbers(s, c.precision, true, c.size, where);
        s.run(request_for(c, both.view, both.view));
        expect_transform(s, c, numbers_before(both, true), numbers_now(s, both, true));
      }
    }
  }
}

TEST(FftComplexTransforms, ReadOneInputManyTimes) {
  for (const dtype type : {dtype::c64, dtype::c128}) {
    fourier_case c{.precision = type == dtype::c64 ? dtype::f32 : dtype::f64, .size = {3, 4, 6}};
    for (const scene::extents& strides :
         {scene::extents{0, 6, 1}, scene::extents{6, 0, 1}, scene::extents{4, 1, 0}}) {
      for (const int rank : {1, 2, 3}) {
        c.rank = rank;
        scene s;
        s.name(c.text() + " with a stride of 0");
        auto& in = s.tensor(type, c.size, strides);
        auto& out = numbers(s, c.precision, true, c.size);
        // A number that has several indices has one value, the last that was put there.
        auto& as_read = s.again(in, in.view);
        s.run(request_for(c, in.view, out.view));
        expect_transform(s, c, as_read.values, numbers_now(s, out, true));
      }
    }
  }
}

TEST(FftComplexTransforms, TakeAnyAlignment) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    for (const std::int64_t first : {1, 2, 3}) {
      const fourier_case c{.precision = precision, .size = {2, 20}};
      scene s;
      s.name(c.text() + " from number " + std::to_string(first));
      auto& in = numbers(s, precision, true, {2, 20 + first});
      auto& out = numbers(s, precision, true, {2, 20 + first});
      auto& from = s.again(in, in.view.slice(1, first, 20 + first).value());
      auto& to = s.again(out, out.view.slice(1, first, 20 + first).value());
      s.run(request_for(c, from.view, to.view));
      expect_transform(s, c, from.values, numbers_now(s, to, true));
    }
  }
}

TEST(FftComplexTransforms, TransformLongSequences) {
  // A power of two, a product of small primes, a prime, and twice a prime.
  for (const std::int64_t n : {16'384, 6'300, 4'099, 2'062}) {
    for (const dtype precision : precisions) {
      if (is_half(precision) && n != 16'384) continue;
      const fourier_case c{.precision = precision,
                           .size = {n},
                           // So that sums stay in the range of f16.
                           .scale = fft::normalization::ortho};
      scene s;
      s.keep_layouts();
      s.name(c.text());
      auto& in = numbers(s, precision, true, c.size);
      auto& out = numbers(s, precision, true, c.size);
      s.run(request_for(c, in.view, out.view));
      expect_transform(s, c, numbers_before(in, true), numbers_now(s, out, true));
    }
  }
}

TEST(FftComplexTransforms, KeepEnergyAndComeBack) {
  const fourier_case there{
      .precision = dtype::f64, .size = {3, 1'000'00}, .scale = fft::normalization::ortho};
  scene s;
  s.name(there.text());
  auto& in = numbers(s, there.precision, true, there.size);
  auto& out = numbers(s, there.precision, true, there.size);
  s.run(request_for(there, in.view, out.view));
  const std::vector<number> spectrum = numbers_now(s, out, true);
  double before = 0;
  double after = 0;
  for (std::size_t i = 0; i < spectrum.size(); ++i) {
    before += std::norm(in.values[i]);
    after += std::norm(spectrum[i]);
  }
  EXPECT_NEAR(after / before, 1, 1e-12) << s.note();

  scene back;
  auto& from = numbers(back, there.precision, true, there.size);
  fill_numbers(back, from, true, spectrum);
  fourier_case c = there;
  c.direction = fft::direction::inverse;
  auto& to = numbers(back, there.precision, true, there.size);
  back.run(request_for(c, from.view, to.view));
  const std::vector<number> again = numbers_now(back, to, true);
  double worst = 0;
  for (std::size_t i = 0; i < again.size(); ++i)
    worst = std::max(worst, std::abs(again[i] - in.values[i]));
  EXPECT_LT(worst, 1e-13) << s.note();
}

TEST(FftComplexTransforms, MakeOfAWaveItsFrequency) {
  constexpr std::int64_t n = 64;
  constexpr std::int64_t frequency = 5;
  scene s;
  auto& wave = s.vector(dtype::c128, n);
  std::vector<number> values;
  values.reserve(n);
  for (std::int64_t j = 0; j < n; ++j)
    values.push_back(
        std::polar(1.0, 2 * std::numbers::pi * frequency * static_cast<double>(j) / n));
  s.fill(wave, values);
  auto& out = s.vector(dtype::c128, n);
  s.run(fft::c2c{.in = wave.view, .out = out.view, .scale = fft::normalization::by_n});
  const std::vector<number> now = s.elements_now(out);
  for (std::int64_t k = 0; k < n; ++k) {
    EXPECT_NEAR(std::abs(now[static_cast<std::size_t>(k)] - number(k == frequency)), 0, 1e-14)
        << "frequency " << k;
  }
}

// More than a backend keeps plans of, and then the first ones again.
TEST(FftComplexTransforms, OutliveTheirPlans) {
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n <= 80; ++n) {
      const fourier_case c{.precision = dtype::f64, .size = {n}};
      scene s;
      s.name(c.text());
      auto& in = numbers(s, c.precision, true, c.size);
      auto& out = numbers(s, c.precision, true, c.size);
      s.run(request_for(c, in.view, out.view));
      expect_transform(s, c, in.values, numbers_now(s, out, true));
    }
  }
}

TEST(FftComplexTransforms, RunInSeveralLanesAtOnce) {
  constexpr std::int64_t longest = 90;
  std::vector<double> worst(4, 0.0);
  {
    std::vector<std::jthread> lanes;
    lanes.reserve(worst.size());
    for (std::size_t lane = 0; lane < worst.size(); ++lane) {
      lanes.emplace_back([&, lane] {
        const auto mine = make_runner();
        for (std::int64_t round = 0; round < 2 * longest; ++round) {
          // Each lane begins elsewhere, so that some make plans while others use or drop theirs.
          const std::int64_t n = 1 + (round + static_cast<std::int64_t>(lane) * 20) % longest;
          std::vector<number> x(static_cast<std::size_t>(n));
          for (std::size_t j = 0; j < x.size(); ++j)
            x[j] = {static_cast<double>(j * 31 % 17), static_cast<double>(j * 7 % 13)};
          const any_tensor t = mine->allocate(dtype::c128, n);
          mine->upload(t, std::as_bytes(std::span(x)));
          (*mine)(fft::c2c{.in = t, .out = t}).value();
          std::vector<number> now(x.size());
          mine->download(t, std::as_writable_bytes(std::span(now)));
          mine->release();
          const auto expected = transformed_by_definition(x, fft::direction::forward);
          for (std::size_t k = 0; k < x.size(); ++k)
            worst[lane] = std::max(worst[lane], std::abs(now[k] - expected[k]));
        }
      });
    }
  }
  for (const double off : worst)
    EXPECT_LT(off, 1e-10);
}

TEST(FftComplexTransforms, ReferencesAgree) {
  for (const std::int64_t n : {1, 2, 12, 30, 97, 210, 256}) {
    std::vector<number> x;
    x.reserve(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j)
      x.emplace_back(std::sin(static_cast<double>(3 * j)), std::cos(static_cast<double>(j * j)));
    for (const auto direction : directions) {
      const auto one = transformed_by_definition(x, direction);
      const auto other = transformed_by_factors(x, direction);
      for (std::size_t k = 0; k < x.size(); ++k)
        EXPECT_NEAR(std::abs(one[k] - other[k]), 0, 1e-13) << n << ", number " << k;
    }
  }
}

TEST(FftComplexTransforms, RefuseWhatTheyCannotDo) {
  scene s;
  const auto c64 = [&](const scene::extents& size) {
    return numbers(s, dtype::f32, true, size).view;
  };
  const any_tensor x = c64({4, 6});
  const any_tensor y = c64({4, 6});
  s.refuse(fft::c2c{.in = x, .out = y, .rank = 4}, errc::invalid_argument, "rank is 4");
  s.refuse(fft::c2c{.in = x, .out = y, .rank = 3}, errc::shape_mismatch,
           "3 dimensions are transformed, in is <c64>[4, 6]");
  s.refuse(fft::c2c{.in = x, .out = c64({4, 5})}, errc::shape_mismatch,
           "out must have the extents of in, [4, 6]; it is [4, 5]");
  s.refuse(fft::c2c{.in = c64({4, 0}), .out = c64({4, 0})}, errc::shape_mismatch,
           "dimension 1 of in is transformed and has no elements");
  s.refuse(fft::c2c{.in = x, .out = numbers(s, dtype::f64, true, {4, 6}).view}, errc::type_mismatch,
           "out must be c64 because in is c64; it is c128");
  s.refuse(fft::c2c{.in = x.slice(0, 0, 3).value(), .out = x.slice(0, 1, 4).value()},
           errc::aliasing, "out is written and must not overlap in");
  s.refuse(fft::c2c{.in = x,
                    .out = any_tensor::unowned(y.address(), dtype::c64, {4, 6},
                                               std::vector<std::int64_t>{6, -1})},
           errc::layout_unsupported, "negative stride");

  const auto half = [&](const scene::extents& size) {
    return numbers(s, dtype::f16, true, size).view;
  };
  s.refuse(fft::c2c{.in = half({3, 12}), .out = half({3, 12})}, errc::unsupported,
           "dimension 1 of in is 12 but transforms in f16 have powers of two only");
  s.refuse(fft::c2c{.in = s.vector(dtype::f16, 8).view, .out = s.vector(dtype::f16, 8).view},
           errc::layout_unsupported, "its last dimension must have extent 2 and stride 1");
  s.refuse(fft::c2c{.in = s.tensor(dtype::f16, {8, 2}, {3, 1}).view, .out = half({8})},
           errc::layout_unsupported, "stride 3 of dimension 0 must be even");
}

}  // namespace
}  // namespace troupe::conformance
