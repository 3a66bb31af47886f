// Refusals of load and store functions.
#include "fourier_cases.hpp"

#include <troupe/elementwise/value.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>

#include <utility>

namespace troupe::conformance {
namespace {

using elementwise::function;

template <class R>
R with_load(const any_tensor& in, const any_tensor& out, const function& load,
            std::vector<any_tensor> operands = {}) {
  R r;
  r.in = in;
  r.out = out;
  r.load = load;
  r.load_operands = std::move(operands);
  return r;
}
template <class R>
R with_store(const any_tensor& in, const any_tensor& out, const function& store,
             std::vector<any_tensor> operands = {}) {
  R r;
  r.in = in;
  r.out = out;
  r.store = store;
  r.store_operands = std::move(operands);
  return r;
}

TEST(FftFunctions, RefuseWhatDoesNotFit) {
  scene s;
  const any_tensor x = s.vector(dtype::c64, 8).view;
  const any_tensor y = s.vector(dtype::c64, 8).view;
  const any_tensor half = s.vector(dtype::f16, 8).view;
  const any_tensor samples = s.vector(dtype::i16, 8).view;
  const any_tensor window = s.vector(dtype::f32, 8).view;
  const any_tensor short_one = s.vector(dtype::f32, 5).view;
  const auto same = function::of(1, [](auto v) { return v[0]; });
  const auto times = function::of(2, [](auto v) { return v[0] * v[1]; });
  const auto row = function::of(1, [](auto v) { return row_sum(v[0]); });
  const auto two =
      function::of(1, [](auto v) { return std::vector<elementwise::result_value>{v[0], v[0]}; });
  const auto bits = function::of(1, [](auto v) { return v[0] & 3; });
  const auto imaginary = function::of(1, [](auto v) { return elementwise::complex(v[0]); });
  using enum errc;

  s.refuse(with_load<fft::c2c>(samples, y, times), invalid_argument,
           "load must have 1 inputs, as it has 0 operands");
  s.refuse(with_store<fft::c2c>(x, y, same, {window}), invalid_argument,
           "store must have 2 inputs, as it has 1 operands");
  s.refuse(with_load<fft::c2c>(samples, y, two), invalid_argument, "2 outputs");
  s.refuse(with_load<fft::c2c>(samples, y, row), invalid_argument, "no row operations");
  s.refuse(with_load<fft::c2c>(x, y, {}, {window}), invalid_argument,
           "load_operands must not be given unless load is given");
  s.refuse(with_load<fft::c2c>(samples, y, times, {short_one}), shape_mismatch,
           "load_operands[0] is [5] and cannot be broadcast to in, which is [8]");
  s.refuse(with_store<fft::c2c>(x, y, times, {any_tensor()}), invalid_argument,
           "store_operands[0] is not given");
  s.refuse(with_load<fft::c2c>(samples, half, same), type_mismatch,
           "out must be c64 or c128 because load is given and store is not; it is f16");
  s.refuse(with_store<fft::c2c>(samples, y, same), type_mismatch,
           "in must be c64 or c128 because store is given and load is not; it is i16");
  s.refuse(with_load<fft::c2c>(window, y, bits), type_mismatch, "load: ");
  s.refuse(with_load<fft::c2c>(window, y, imaginary), type_mismatch, "load: ");
  s.refuse(with_store<fft::c2c>(x, window, imaginary), type_mismatch, "store: ");
  s.refuse(
      with_load<fft::r2c>(s.vector(dtype::c64, 8).view, s.vector(dtype::c64, 5).view, imaginary),
      type_mismatch, "load: ");
  s.refuse(with_load<fft::c2c>(s.vector(dtype::f32, 7).view, y, same), shape_mismatch,
           "out must have the extents of in, [7]");

  fft::c2c both = with_load<fft::c2c>(samples, window, same);
  both.store = same;
  s.refuse(both, invalid_argument, "precision must be f32 or f64");
  fft::c2c decided = with_load<fft::c2c>(samples, y, same);
  decided.precision = fft::precision::f32;
  s.refuse(decided, invalid_argument, "precision is f32, but it must be of_operands");
}

TEST(FftFunctions, RefuseWhatTheyWouldOverwrite) {
  scene s;
  const any_tensor x = s.vector(dtype::c64, 8).view;
  const any_tensor y = s.vector(dtype::c64, 8).view;
  const any_tensor real = s.vector(dtype::f32, 14).view;
  const auto times = function::of(
      2, [](auto v) { return elementwise::complex(v[0]).real * elementwise::complex(v[1]).real; });
  const auto same = function::of(1, [](auto v) { return elementwise::complex(v[0]).real; });
  using enum errc;
  s.refuse(with_load<fft::c2c>(x, y, times, {y}), aliasing,
           "out is written and must not overlap load_operands[0]");
  s.refuse(with_store<fft::c2c>(x, y, times, {y.slice(0, 2, 3).value()}), aliasing,
           "out is written and must not overlap store_operands[0]");
  s.refuse(with_store<fft::c2c>(x, x, times, {x}), aliasing, "store_operands[0]");
  // Rows of 7 real numbers on 4 complex ones: the eighth is behind the row.
  const any_tensor half = s.vector(dtype::c64, 4).view;
  const any_tensor rows = fft::real_rows(half, 7).value();
  const any_tensor behind =
      fft::real_rows(half, 6).value().as_strided(shape{1}, std::vector<std::int64_t>{1}).value();
  s.refuse(with_load<fft::c2r>(half, rows, times, {behind}), aliasing, "load_operands[0]");
  // In place only where both have the transform's own types.
  s.refuse(with_load<fft::r2c>(any_tensor::unowned(x.address(), dtype::f16, shape{14}), x, same),
           aliasing, "out is written and must not overlap in");
  s.refuse(with_load<fft::c2c>(real.slice(0, 0, 8).value(),
                               any_tensor::unowned(real.address(), dtype::c64, shape{7}), same),
           shape_mismatch, "");
}

}  // namespace
}  // namespace troupe::conformance
