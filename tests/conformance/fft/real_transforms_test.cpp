#include "fourier_cases.hpp"

#include <troupe/fft/real_transforms.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

/// The stored coefficients of random real numbers.
std::vector<number> random_half(scene& s, const fourier_case& c) {
  std::int64_t count = 1;
  for (const std::int64_t n : c.size)
    count *= n;
  std::vector<number> real;
  real.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    real.push_back(s.random(dtype::f64));
  const auto all = transformed(real, c.size, c.rank, fft::direction::forward);
  return halved(hermitian(all, c.size, c.rank), c.size);
}

void expect_forward(scene& s, const fourier_case& c, const std::vector<number>& in,
                    const test_tensor& out) {
  expect_transform(s, c, in, numbers_now(s, out, true), true);
}

void expect_inverse(scene& s, fourier_case c, const std::vector<number>& in,
                    const test_tensor& out) {
  c.direction = fft::direction::inverse;
  expect_transform(s, c, completed(in, c.size, c.rank), numbers_now(s, out, false));
}

std::string both(arrangement from, arrangement to) {
  return " arrangements " + std::to_string(static_cast<int>(from)) + " " +
         std::to_string(static_cast<int>(to));
}

TEST(FftRealTransforms, ForwardAgreesWithTheDefinition) {
  for (const fourier_case& c : fourier_cases()) {
    for (const auto from : arrangements) {
      for (const auto to : arrangements) {
        scene s;
        s.name("r2c " + c.text() + both(from, to));
        auto& in = numbers(s, c.precision, false, c.size, from);
        auto& out = numbers(s, c.precision, true, c.half(), to);
        s.run(fft::r2c{.in = in.view, .out = out.view, .rank = c.rank, .scale = c.scale});
        expect_forward(s, c, in.values, out);
      }
    }
  }
}

// And leaves its input as it is: the scene looks at that.
TEST(FftRealTransforms, InverseAgreesWithTheDefinition) {
  for (const fourier_case& c : fourier_cases()) {
    for (const auto from : arrangements) {
      for (const auto to : arrangements) {
        scene s;
        s.name("c2r " + c.text() + both(from, to));
        auto& in = numbers(s, c.precision, true, c.half(), from);
        fill_numbers(s, in, true, random_half(s, c));
        auto& out = numbers(s, c.precision, false, c.size, to);
        s.run(fft::c2r{.in = in.view, .out = out.view, .rank = c.rank, .scale = c.scale});
        expect_inverse(s, c, numbers_before(in, true), out);
      }
    }
  }
}

TEST(FftRealTransforms, ForwardWorksInPlace) {
  for (const fourier_case& c : fourier_cases()) {
    scene s;
    s.name("r2c in place " + c.text());
    auto& out = numbers(s, c.precision, true, c.half());
    auto& in = s.again(out, fft::real_rows(out.view, c.size.back()).value());
    s.run(fft::r2c{.in = in.view, .out = out.view, .rank = c.rank, .scale = c.scale});
    expect_forward(s, c, in.values, out);
  }
}

TEST(FftRealTransforms, InverseWorksInPlace) {
  for (const fourier_case& c : fourier_cases()) {
    scene s;
    s.name("c2r in place " + c.text());
    auto& in = numbers(s, c.precision, true, c.half());
    fill_numbers(s, in, true, random_half(s, c));
    auto& out = s.again(in, fft::real_rows(in.view, c.size.back()).value());
    s.run(fft::c2r{.in = in.view, .out = out.view, .rank = c.rank, .scale = c.scale});
    expect_inverse(s, c, numbers_before(in, true), out);
  }
}

/// Rows of a block of a larger tensor, its dimensions in another order: [4, 3, 4].
any_tensor block_of(const any_tensor& whole) {
  const any_tensor block = whole.slice(0, 1, 4).value().slice(1, 2, 6).value();
  return block.slice(2, 3, 7).value().permute(std::vector<int>{1, 0, 2}).value();
}

TEST(FftRealTransforms, WorkInPlaceOnBlocks) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    for (const int rank : {1, 2, 3}) {
      const fourier_case c{.precision = precision, .size = {4, 3, 6}, .rank = rank};
      scene s;
      s.name("r2c in place on a block " + c.text());
      auto& whole = numbers(s, precision, true, {5, 7, 9});
      auto& out = s.again(whole, block_of(whole.view));
      auto& in = s.again(whole, fft::real_rows(out.view, 6).value());
      s.run(fft::r2c{.in = in.view, .out = out.view, .rank = c.rank});
      expect_forward(s, c, in.values, out);

      scene back;
      back.name("c2r in place on a block " + c.text());
      auto& room = numbers(back, precision, true, {5, 7, 9});
      auto& half = back.again(room, block_of(room.view));
      back.fill(half, random_half(back, c));
      auto& real = back.again(half, fft::real_rows(half.view, 6).value());
      back.run(fft::c2r{.in = half.view, .out = real.view, .rank = c.rank});
      expect_inverse(back, c, half.values, real);
    }
  }
}

TEST(FftRealTransforms, TakeAnyAlignment) {
  for (const dtype precision : {dtype::f32, dtype::f64, dtype::f16}) {
    for (const std::int64_t first : {1, 2, 3}) {
      const fourier_case c{.precision = precision, .size = {3, 16}};
      scene s;
      s.name(c.text() + " from number " + std::to_string(first));
      auto& in = numbers(s, precision, false, {3, 16 + first});
      auto& from = s.again(in, in.view.slice(1, first, 16 + first).value());
      auto& out = numbers(s, precision, true, c.half());
      s.run(fft::r2c{.in = from.view, .out = out.view});
      expect_forward(s, c, from.values, out);

      scene back;
      back.name("back: " + c.text() + " to number " + std::to_string(first));
      auto& half = numbers(back, precision, true, c.half());
      fill_numbers(back, half, true, random_half(back, c));
      auto& room = numbers(back, precision, false, {3, 16 + first});
      auto& to = back.again(room, room.view.slice(1, first, 16 + first).value());
      back.run(fft::c2r{.in = half.view, .out = to.view});
      expect_inverse(back, c, numbers_before(half, true), to);
    }
  }
}

/// The strides of rows with `pad` numbers between them, and with `more` between what is around
/// rows.
scene::extents padded_rows(const scene::extents& size, std::int64_t pad, std::int64_t more) {
  scene::extents strides(size.size(), 1);
  for (std::size_t d = size.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * size[d + 1] + (d + 2 == size.size() ? pad : more);
  return strides;
}

// If a row of real numbers ends in the middle of a pair, the other half of the pair is not the
// request's.
TEST(FftRealTransforms, LeaveWhatLiesBetweenRows) {
  const std::pair<scene::extents, int> batches[] = {{{6}, 1},    {{2, 3}, 1}, {{2}, 2},
                                                    {{3, 2}, 2}, {{2, 2}, 3}, {{2, 3, 1}, 3}};
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    for (const std::int64_t n : {1, 2, 5, 6, 7, 13}) {
      for (const auto& [outer, rank] : batches) {
        for (const std::int64_t pad : {0, 1, 2, 3}) {
          for (const std::int64_t more : {0, 1}) {
            fourier_case c{.precision = precision, .size = outer, .rank = rank};
            c.size.push_back(n);
            const std::string text = c.text() + " " + std::to_string(pad) + " between rows, " +
                                     std::to_string(more) + " between matrices";
            scene s;
            s.keep_layouts();
            s.name("r2c " + text);
            auto& in = s.tensor(precision, c.size, padded_rows(c.size, pad, more));
            auto& out = numbers(s, precision, true, c.half());
            s.run(fft::r2c{.in = in.view, .out = out.view, .rank = c.rank});
            expect_forward(s, c, in.values, out);

            scene back;
            back.keep_layouts();
            back.name("c2r " + text);
            auto& half = back.tensor(element_type(precision, true), c.half(),
                                     padded_rows(c.half(), 2, more));
            fill_numbers(back, half, true, random_half(back, c));
            auto& real = back.tensor(precision, c.size, padded_rows(c.size, pad, more));
            back.run(fft::c2r{.in = half.view, .out = real.view, .rank = c.rank});
            expect_inverse(back, c, numbers_before(half, true), real);
          }
        }
      }
    }
  }
}

TEST(FftRealTransforms, ReadOneInputManyTimes) {
  const fourier_case c{.precision = dtype::f32, .size = {3, 4, 6}, .rank = 2};
  scene s;
  s.name("r2c with a stride of 0 " + c.text());
  auto& in = s.tensor(dtype::f32, c.size, {0, 6, 1});
  auto& as_read = s.again(in, in.view);
  auto& out = numbers(s, c.precision, true, c.half());
  s.run(fft::r2c{.in = in.view, .out = out.view, .rank = c.rank});
  expect_forward(s, c, as_read.values, out);
}

TEST(FftRealTransforms, TransformLongSequences) {
  for (const std::int64_t n : {16'384, 6'300, 4'099, 2'062}) {
    for (const dtype precision : precisions) {
      if (is_half(precision) && n != 16'384) continue;
      // So that sums stay in the range of f16.
      const fourier_case c{.precision = precision, .size = {n}, .scale = fft::normalization::ortho};
      scene s;
      s.keep_layouts();
      s.name("r2c " + c.text());
      auto& in = numbers(s, precision, false, c.size);
      auto& out = numbers(s, precision, true, c.half());
      s.run(fft::r2c{.in = in.view, .out = out.view, .scale = c.scale});
      expect_forward(s, c, in.values, out);
    }
  }
}

TEST(FftRealTransforms, ComeBack) {
  const std::int64_t n = 30'001;
  scene s;
  auto& in = s.vector(dtype::f64, n);
  auto& out = s.vector(dtype::c128, n / 2 + 1);
  s.run(fft::r2c{.in = in.view, .out = out.view});
  const std::vector<number> half = s.elements_now(out);
  scene back;
  auto& from = back.vector(dtype::c128, n / 2 + 1);
  back.fill(from, half);
  auto& to = back.vector(dtype::f64, n);
  back.run(fft::c2r{.in = from.view, .out = to.view, .scale = fft::normalization::by_n});
  const std::vector<number> again = back.elements_now(to);
  double worst = 0;
  for (std::size_t i = 0; i < again.size(); ++i)
    worst = std::max(worst, std::abs(again[i] - in.values[i]));
  EXPECT_LT(worst, 1e-13) << s.note();
}

TEST(FftRealTransforms, RefuseWhatTheyCannotDo) {
  scene s;
  const auto real = [&](const scene::extents& size) {
    return numbers(s, dtype::f32, false, size).view;
  };
  const auto complex = [&](const scene::extents& size) {
    return numbers(s, dtype::f32, true, size).view;
  };
  s.refuse(fft::r2c{.in = real({4, 6}), .out = complex({4, 6})}, errc::shape_mismatch,
           "must have extent 4 in dimension 1 (n/2 + 1, n = 6) because in is [4, 6]");
  s.refuse(fft::c2r{.in = complex({4, 6}), .out = real({4, 6})}, errc::shape_mismatch,
           "must have extent 4 in dimension 1 (n/2 + 1, n = 6) because out is [4, 6]");
  s.refuse(fft::r2c{.in = real({4, 6}), .out = numbers(s, dtype::f64, true, {4, 4}).view},
           errc::type_mismatch, "out must be c64 because in is f32; it is c128");
  s.refuse(fft::r2c{.in = real({4, 0}), .out = complex({4, 1})}, errc::shape_mismatch,
           "has no elements");
  s.refuse(fft::r2c{.in = numbers(s, dtype::bf16, false, {6}).view,
                    .out = numbers(s, dtype::bf16, true, {4}).view},
           errc::unsupported, "powers of two only");

  // Rows that lie on each other otherwise than in place.
  const any_tensor rows = complex({4, 4});
  const any_tensor on_it = fft::real_rows(rows, 6).value();
  s.refuse(fft::r2c{.in = on_it.slice(0, 0, 3).value(), .out = rows.slice(0, 1, 4).value()},
           errc::aliasing, "out is written and must not overlap in");
  s.refuse(fft::c2r{.in = rows,
                    .out = on_it.as_strided({4, 6}, std::vector<std::int64_t>{6, 1}).value()},
           errc::aliasing, "out is written and must not overlap in");

  // In place but for its complex rows, which lie on each other.
  const any_tensor pairs = complex({2, 2});
  const any_tensor real_pairs = fft::real_rows(pairs, 2).value();
  s.refuse(fft::c2r{.in = pairs.as_strided({2, 2}, std::vector<std::int64_t>{1, 1}).value(),
                    .out = real_pairs.as_strided({2, 2}, std::vector<std::int64_t>{2, 1}).value()},
           errc::aliasing, "in is written, so no two of its indices may refer to the same element");

  EXPECT_EQ(fft::real_rows(rows, 8).error().code, errc::shape_mismatch);
  EXPECT_EQ(fft::real_rows(real({4, 4}), 6).error().code, errc::type_mismatch);
  EXPECT_EQ(fft::real_rows(rows.transpose(), 6).error().code, errc::layout_unsupported);
  EXPECT_EQ(fft::real_rows(any_tensor(), 6).error().code, errc::invalid_argument);
}

}  // namespace
}  // namespace troupe::conformance
