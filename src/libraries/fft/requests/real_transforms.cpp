#include "libraries/fft/requests/geometry.hpp"
#include "libraries/fft/requests/rules.hpp"

#include <troupe/fft/real_transforms.hpp>

#include <array>
#include <span>
#include <string>
#include <utility>

namespace troupe::fft {

void r2c::describe(description<r2c>& d) {
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  const extent pair = d.size("pair");
  d.about("Transforms real numbers along the last `rank` dimensions, forward.",
          "cuFFT cufftXtExec, FFTW plan_guru64_dft_r2c");
  d.reads("in", &r2c::in, {batch, n}, "real numbers");
  d.updates("out", &r2c::out, {batch, n / 2 + 1}, "the first coefficients; in halves as pairs")
      .shape_where(d.given(&r2c::store), {batch, n / 2 + 1})
      .shape_where(d.is(&r2c::out, {dtype::f16, dtype::bf16}), {batch, n / 2 + 1, pair})
      .updated_where(d.in_place(&r2c::in, &r2c::out))
      .may_share(&r2c::in);
  d.value("rank", &r2c::rank, "how many dimensions are transformed").range(1, 3);
  d.value("scale", &r2c::scale, "what the sums are multiplied by");
  describe_functions(d);
  d.types({&r2c::in, &r2c::out}, {{dtype::f32, dtype::c64},
                                  {dtype::f64, dtype::c128},
                                  {dtype::f16, dtype::f16},
                                  {dtype::bf16, dtype::bf16}})
      .types_unless({d.given(&r2c::load), d.given(&r2c::store)});
  d.rule(functions_rule,
         [](argument_checks& check, const r2c& r) { functions_fit(check, r, false, true); });
  d.rule(pairs_rule, [](argument_checks& check, const r2c& r) {
    pairs_fit(check, {{"out", r.out}, true, r.store});
  });
  d.rule(lengths_rule, [](argument_checks& check, const r2c& r) {
    lengths_fit(check, {{"in", r.in}, false, r.load}, r.rank);
  });
  d.rule(in_place_rule, [](argument_checks& check, const r2c& r) {
    apart_or_in_place(check, {{"in", r.in}, false, r.load}, {{"out", r.out}, true, r.store},
                      precision_of(r));
  });
}

void c2r::describe(description<c2r>& d) {
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  const extent pair = d.size("pair");
  const condition in_place = d.in_place(&c2r::in, &c2r::out);
  d.about("Transforms back what r2c makes, inverse, along the last `rank` dimensions.",
          "cuFFT cufftXtExec, FFTW plan_guru64_dft_c2r");
  // In place the ends of in's rows, where out has no numbers, do not stay as they are.
  d.reads("in", &c2r::in, {batch, n / 2 + 1}, "the first coefficients; in halves as pairs")
      .shape_where(d.given(&c2r::load), {batch, n / 2 + 1})
      .shape_where(d.is(&c2r::in, {dtype::f16, dtype::bf16}), {batch, n / 2 + 1, pair})
      .updated_where(in_place);
  d.updates("out", &c2r::out, {batch, n}, "real numbers")
      .updated_where(in_place)
      .may_share(&c2r::in);
  d.value("rank", &c2r::rank, "how many dimensions are transformed").range(1, 3);
  d.value("scale", &c2r::scale, "what the sums are multiplied by");
  describe_functions(d);
  d.types({&c2r::in, &c2r::out}, {{dtype::c64, dtype::f32},
                                  {dtype::c128, dtype::f64},
                                  {dtype::f16, dtype::f16},
                                  {dtype::bf16, dtype::bf16}})
      .types_unless({d.given(&c2r::load), d.given(&c2r::store)});
  d.rule(functions_rule,
         [](argument_checks& check, const c2r& r) { functions_fit(check, r, true, false); });
  d.rule(pairs_rule, [](argument_checks& check, const c2r& r) {
    pairs_fit(check, {{"in", r.in}, true, r.load});
  });
  d.rule(lengths_rule, [](argument_checks& check, const c2r& r) {
    lengths_fit(check, {{"out", r.out}, false, r.store}, r.rank);
  });
  d.rule(in_place_rule, [](argument_checks& check, const c2r& r) {
    apart_or_in_place(check, {{"in", r.in}, true, r.load}, {{"out", r.out}, false, r.store},
                      precision_of(r));
  });
}

result<any_tensor> real_rows(const any_tensor& complex, std::int64_t n) {
  const operand what{"complex", complex};
  const int rank = number_rank(complex, true);
  argument_checks check;
  check.tensor(what).type(what, {dtype::c64, dtype::c128, dtype::f16, dtype::bf16});
  pairs_fit(check, {what, true, elementwise::function{}});
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
