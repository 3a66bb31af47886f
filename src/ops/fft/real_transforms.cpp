#include "ops/fft/geometry.hpp"
#include "ops/fft/rules.hpp"

#include <troupe/ops/fft/real_transforms.hpp>

#include <array>
#include <span>
#include <string>
#include <utility>

namespace troupe::fft {

void r2c::describe(field_visitor& f) {
  f.reads("in", in);
  f.updates("out", out, in_place(in, out));
  f.value("rank", rank);
  f.option("scale", scale, normalization::ortho);
}

result<void> r2c::validate() const {
  argument_checks check;
  check.tensor({"in", in}).tensor({"out", out});
  check.type({"in", in}, {dtype::f32, dtype::f64, dtype::f16, dtype::bf16});
  check.type({"out", out}, {complex_of(in.type())});
  return transform_fits(check, {{"in", in}, false}, {{"out", out}}, rank).verdict();
}

void c2r::describe(field_visitor& f) {
  // In place the ends of in's rows, where out has no numbers, do not stay as they are.
  if (in_place(in, out)) {
    f.updates("in", in);
  } else {
    f.reads("in", in);
  }
  f.updates("out", out, in_place(in, out));
  f.value("rank", rank);
  f.option("scale", scale, normalization::ortho);
}

result<void> c2r::validate() const {
  argument_checks check;
  check.tensor({"in", in}).tensor({"out", out});
  check.type({"in", in}, {dtype::c64, dtype::c128, dtype::f16, dtype::bf16});
  check.type({"out", out}, {real_of(in.type())});
  return transform_fits(check, {{"in", in}}, {{"out", out}, false}, rank).verdict();
}

result<any_tensor> real_rows(const any_tensor& complex, std::int64_t n) {
  const operand what{"complex", complex};
  const int rank = number_rank(complex, true);
  argument_checks check;
  check.tensor(what).type(what, {dtype::c64, dtype::c128, dtype::f16, dtype::bf16});
  pairs_fit(check, {what});
  check.rule(rank >= 1 && n >= 1 && complex.extent(rank - 1) == n / 2 + 1, errc::shape_mismatch,
             [&] {
               return "complex is " + complex.to_string() + ", rows of " + std::to_string(n) +
                      " real numbers have " + std::to_string(n / 2 + 1);
             });
  check.rule(
      !check.good() || complex.extent(rank - 1) == 1 || number_stride(complex, true, rank - 1) == 1,
      errc::layout_unsupported,
      [&] { return "the rows of complex have gaps: " + complex.to_string(); });
  if (auto valid = check.verdict(); !valid) return std::move(valid).error();

  std::array<std::int64_t, max_rank> extents{};
  std::array<std::int64_t, max_rank> strides{};
  const auto dimensions = static_cast<std::size_t>(rank);
  for (std::size_t d = 0; d < dimensions; ++d) {
    extents[d] = complex.extent(static_cast<int>(d));
    strides[d] = 2 * number_stride(complex, true, static_cast<int>(d));
  }
  extents[dimensions - 1] = n;
  strides[dimensions - 1] = 1;
  const shape size(std::span(extents.data(), dimensions));
  const std::span<const std::int64_t> steps(strides.data(), dimensions);
  const dtype type = real_of(complex.type());
  if (!complex.buffer()) return any_tensor::unowned(complex.address(), type, size, steps);
  const auto room = static_cast<std::int64_t>(complex.buffer()->bytes) / size_of(type);
  const std::int64_t first = (complex.address() - complex.buffer()->address) / size_of(type);
  auto rows = any_tensor::owned(complex.buffer(), type, {room}).slice(0, first, room);
  if (!rows) return rows;
  return rows->as_strided(size, steps);
}

}  // namespace troupe::fft
