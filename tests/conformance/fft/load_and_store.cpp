// Load and store functions, with each transform, type and layout.
#include "function_cases.hpp"

#include <troupe/fft/complex_transforms.hpp>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::value;

struct extents_and_rank {
  scene::extents size;
  int rank;
};
const extents_and_rank sizes[] = {{{12}, 1},   {{7}, 1},    {{3, 10}, 1},      {{2, 3, 9}, 1},
                                  {{0, 6}, 1}, {{4, 6}, 2}, {{2, 3, 5, 4}, 3}, {{3, 5, 7}, 2}};

/// Each size and rank, in f32 and f64, for a case that says the rest.
template <class Case>
void for_each_size(Case make) {
  for (const dtype precision : {dtype::f32, dtype::f64}) {
    for (const auto& [size, rank] : sizes)
      make(fourier_case{.precision = precision, .size = size, .rank = rank});
  }
}

TEST(FftFunctions, LoadWhatIsTransformed) {
  for_each_size([](const fourier_case& c) {
    for (const arrangement from : arrangements) {
      for (const arrangement to : {arrangement::packed, arrangement::gaps, arrangement::rotated}) {
        const dtype complex = element_type(c.precision, true);
        for (const dtype in : {dtype::i16, dtype::f32, dtype::f16, dtype::f64}) {
          check({sort::c2c, c, in, complex, windowed(), none(), from, to});
          check({sort::r2c, c, in, complex, windowed(), none(), from, to});
          if (c.rank == 1) check({sort::c2r, c, in, c.precision, windowed(), none(), from, to});
        }
        check({sort::c2c, c, dtype::f16, complex, paired(), none(), from, to});
        check({sort::c2c, c, dtype::c64, complex, filtered(c.precision), none(), from, to});
        check({sort::r2c, c, dtype::u8, complex, moved(), none(), from, to});
        check({sort::c2r, c, dtype::c64, c.precision, scaled(), none(), from, to});
      }
    }
  });
}

TEST(FftFunctions, StoreWhatWasTransformed) {
  for_each_size([](fourier_case c) {
    for (const arrangement from : {arrangement::packed, arrangement::gaps, arrangement::rotated}) {
      for (const arrangement to : arrangements) {
        for (const auto scale : normalizations) {
          c.scale = scale;
          const dtype complex = element_type(c.precision, true);
          check({sort::c2c, c, complex, complex, none(), filtered(c.precision), from, to});
          check({sort::r2c, c, c.precision, complex, none(), conjugated(), from, to});
          check({sort::c2c, c, complex, dtype::f32, none(), power(), from, to});
          check({sort::r2c, c, c.precision, dtype::f64, none(), power(), from, to});
          check({sort::c2r, c, complex, c.precision, none(), moved(), from, to});
          check({sort::c2r, c, complex, dtype::bf16, none(), windowed(), from, to});
          check({sort::r2c, c, c.precision, dtype::c64, none(), filtered(c.precision), from, to});
        }
      }
    }
  });
}

TEST(FftFunctions, LoadAndStore) {
  for_each_size([](fourier_case c) {
    c.scale = fft::normalization::ortho;
    for (const arrangement from : arrangements) {
      for (const arrangement to : arrangements) {
        check({sort::c2c, c, dtype::i8, dtype::c128, windowed(), filtered(c.precision), from, to});
        check({sort::c2c, c, dtype::c64, dtype::f16, filtered(c.precision), power(), from, to});
        check(
            {sort::c2c, c, dtype::c64, dtype::c64, filtered(c.precision), conjugated(), from, to});
        check({sort::r2c, c, dtype::i16, dtype::f32, moved(), power(), from, to});
        check({sort::c2r, c, dtype::c64, dtype::f16, scaled(), windowed(), from, to});
      }
    }
  });
}

TEST(FftFunctions, WorkInPlace) {
  for_each_size([](fourier_case c) {
    for (const auto scale : normalizations) {
      c.scale = scale;
      const dtype complex = element_type(c.precision, true);
      for (const arrangement a : arrangements) {
        check({sort::c2c, c, complex, complex, filtered(c.precision), none(), a, a, true});
        check({sort::c2c, c, complex, complex, none(), filtered(c.precision), a, a, true});
        check({sort::c2c, c, complex, complex, filtered(c.precision), conjugated(), a, a, true});
      }
      using enum arrangement;
      check({sort::r2c, c, c.precision, complex, windowed(), none(), packed, packed, true});
      check({sort::r2c, c, c.precision, complex, none(), filtered(c.precision), packed, packed,
             true});
      check({sort::r2c, c, c.precision, complex, moved(), conjugated(), packed, packed, true});
      check({sort::c2r, c, complex, c.precision, scaled(), none(), packed, packed, true});
      check({sort::c2r, c, complex, c.precision, none(), moved(), packed, packed, true});
      check({sort::c2r, c, complex, c.precision, scaled(), windowed(), packed, packed, true});
    }
  });
}

TEST(FftFunctions, ReadOneElementManyTimes) {
  const fourier_case c{.precision = dtype::f32, .size = {4, 6}};
  scene s;
  auto& row = s.tensor(dtype::i16, {4, 6}, {0, 1});
  auto& as_read = s.again(row, row.view);
  auto& out = numbers(s, dtype::f32, true, c.size);
  s.run(fft::c2c{.in = row.view, .out = out.view, .load = function::of(1, [](auto x) {
                                                    return x[0] * 0.25;
                                                  })});
  std::vector<number> x = as_read.values;
  for (number& v : x)
    v *= 0.25;
  expect_transform(s, c, x, numbers_now(s, out, true));
}

// Indices are those of in or out, wherever the numbers lie meanwhile.
TEST(FftFunctions, KnowWhereTheyAre) {
  const fourier_case c{.precision = dtype::f64, .size = {3, 8}};
  for (const arrangement a : arrangements) {
    scene s;
    auto& in = elements(s, dtype::c128, c.size, a);
    auto& out = elements(s, dtype::c128, c.size, a);
    const auto by_index = function::of(1, [](auto x) {
      return elementwise::complex(x[0]).real * (elementwise::index(0) + 10 * elementwise::index(1));
    });
    s.run(fft::c2c{.in = in.view, .out = out.view, .load = by_index});
    std::vector<number> x = in.values;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t row = i / 8;
      x[i] = x[i].real() * static_cast<double>(i % 8 + 10 * row);
    }
    expect_transform(s, c, x, numbers_now(s, out, true));
  }
}

// Scaling is part of the function where there is room in it, and a pass before it where not.
TEST(FftFunctions, AreScaledWhateverTheirLength) {
  const auto longest = function::of(1, [](auto x) {
    const value number = elementwise::complex(x[0]).real;
    value sum = number;
    for (int i = 1; i < 126; ++i)
      sum = sum * 0.5 + number;
    return sum;
  });
  ASSERT_GT(longest.size(), function::most_instructions - 6);
  for (const sort what : {sort::c2c, sort::c2r}) {
    const fourier_case c{.precision = dtype::f64, .size = {12}, .scale = fft::normalization::by_n};
    // Σ 2^-i: the number times 2.
    check({what,
           c,
           dtype::c128,
           dtype::f64,
           none(),
           {.what = longest,
            .by_hand = [](number x, const auto&) { return number(2 * x.real()); },
            .slope = [](number, const auto&) { return 2.0; }}});
  }
}

}  // namespace
}  // namespace troupe::conformance
