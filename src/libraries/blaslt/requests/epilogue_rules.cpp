#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/blaslt/requests/limits.hpp"
#include "libraries/blaslt/requests/rules.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::blaslt {
namespace {

operand vector_of(const matmul& r) noexcept {
  return has_bias(r.epilogue) ? operand{"bias", r.bias} : operand{"bgrad", r.bgrad};
}

argument_checks& row_major(argument_checks& check, const matmul& r) {
  return check.rule(!check.good() || lay_out(r).swapped, errc::layout_unsupported, [&] {
    return fmt::format(
        "epilogue {} works along d's last extent, so d must be row-major, it is {}; for a bias "
        "along the other one transpose a, b, c and d and exchange a and b",
        epilogue_name(r.epilogue), r.d.to_string());
  });
}

/// See limits::cublaslt::vector_alignment.
argument_checks& vector_is_aligned(argument_checks& check, const operand& t, const matmul& r) {
  const auto types = types_of(r);
  if (!check.good() || extent_unit(types->computed) == 1) return check;
  const std::string_view what = types->computed == arithmetic::fp8 ? "fp8" : "i8";
  constexpr std::int64_t unit = limits::cublaslt::vector_unit;
  begins_at_multiple(check, t, unit, what);
  const bool several = t.view.rank() == 2 && t.view.extent(0) > 1;
  return check.rule(!several || t.view.stride(0) * size_of(t.view.type()) % unit == 0,
                    errc::layout_unsupported, [&] {
                      return fmt::format(
                          "{}'s distance in a batch must be a multiple of 16 bytes for {}: {}",
                          t.name, what, t.view.to_string());
                    });
}

/// See limits::cublaslt::fp8_gelu_input.
argument_checks& aux_type_fits(argument_checks& check, const matmul& r) {
  const operand aux{"aux", r.aux};
  if (is_relu(r.epilogue)) return check.type(aux, {dtype::u8});
  if (!is_fp8(r.d.type())) return check.same_type(aux, {"d", r.d});
  const bool pure = r.a.type() == dtype::e4m3 && r.b.type() == dtype::e4m3;
  check.rule(pure && r.d.type() == dtype::e4m3, errc::unsupported, [&] {
    return fmt::format(
        "cuBLASLt keeps gelu's input for d in fp8 only where a, b and d are e4m3: a {}, b {}, d {}",
        to_string(r.a.type()), to_string(r.b.type()), to_string(r.d.type()));
  });
  check.type(aux, {dtype::f16, dtype::bf16});
  return r.c.null() ? check : check.same_type(aux, {"c", r.c});
}

argument_checks& aux_extents_fit(argument_checks& check, const matmul& r) {
  if (!check.good()) return check;
  const operand aux{"aux", r.aux};
  const column_major_product p = lay_out(r);
  const auto [rows, columns] = aux_extents(p, is_relu(r.epilogue));
  if (r.d.rank() == 3) {
    return check.extents(aux, {p.batch, rows, columns}, "what the epilogue needs");
  }
  return check.extents(aux, {rows, columns}, "what the epilogue needs");
}

argument_checks& aux_is_taken(argument_checks& check, const matmul& r) {
  if (!check.good()) return check;
  const column_major_product p = lay_out(r);
  check.rule(aux_is_laid_out(r, p), errc::layout_unsupported, [&] {
    return fmt::format(
        "aux must be {}-major as d is, its leading dimension and its distance in a "
        "batch multiples of {}; it is {}",
        p.swapped ? "row" : "column", is_relu(r.epilogue) ? 16 : 8, r.aux.to_string());
  });
  return begins_at_multiple(check, {"aux", r.aux}, 16);
}

}  // namespace

argument_checks& epilogue_vector_fits(argument_checks& check, const matmul& r) {
  const operand vector = vector_of(r);
  if (vector.view.null() || !check.good()) return check;
  const int last = vector.view.rank() - 1;
  check.rule(vector.view.extent(last) <= 1 || vector.view.stride(last) == 1,
             errc::layout_unsupported, [&] {
               return fmt::format("{} must be contiguous, it is {}", vector.name,
                                  vector.view.to_string());
             });
  // If d is fp8, aux implies the type of c.
  check.rule(types_of(r).has_value(), errc::type_mismatch, [&] {
    return fmt::format("{} is {}, which cuBLASLt does not take for a {}, b {}, d {}{}", vector.name,
                       to_string(vector.view.type()), to_string(r.a.type()), to_string(r.b.type()),
                       to_string(r.d.type()),
                       r.c.null() ? "" : fmt::format(", c {}", to_string(r.c.type())));
  });
  vector_is_aligned(check, vector, r);
  if (!sums_operand(r.epilogue)) return row_major(check, r);
  const bool of_a = r.epilogue == epilogue::bgrad_a;
  const any_tensor& summed = of_a ? r.a : r.b;
  const auto wanted = of_a ? blas::order::column_major : blas::order::row_major;
  return check.rule(!check.good() || blas::leading_dimension(summed, wanted) != 0,
                    errc::layout_unsupported, [&] {
                      return fmt::format("epilogue {} needs {} {}, it is {}",
                                         epilogue_name(r.epilogue), of_a ? "a" : "b",
                                         of_a ? "column-major" : "row-major", summed.to_string());
                    });
}

argument_checks& epilogue_aux_fits(argument_checks& check, const matmul& r) {
  if (r.aux.null()) return check;
  aux_type_fits(check, r);
  if (is_relu(r.epilogue)) aux_extents_fit(check, r);
  return aux_is_taken(check, r);
}

}  // namespace troupe::blaslt
