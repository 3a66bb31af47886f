#include "libraries/blaslt/requests/rules.hpp"

#include "libraries/blas/requests/rules.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/blaslt/requests/limits.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace troupe::blaslt {
namespace {

constexpr std::int64_t most_products = std::numeric_limits<std::int32_t>::max();

std::string type_names(const matmul& r) {
  std::string names = fmt::format("a {}, b {}, d {}", to_string(r.a.type()), to_string(r.b.type()),
                                  to_string(r.d.type()));
  if (!r.c.null()) names += fmt::format(", c {}", to_string(r.c.type()));
  return names;
}

bool has_epilogues(const combination& types, epilogue e) noexcept {
  switch (types.computed) {
    case arithmetic::f64:
    case arithmetic::f32:
      return true;
    case arithmetic::fp8:
      return limits::cublaslt::accepts_fp8_epilogue(types.d, e);
    case arithmetic::i32_scaled:
      return !has_aux(e) && !sums_operand(e);
    case arithmetic::complex:
    case arithmetic::i32:
    case arithmetic::i8_f32:
      return e == epilogue::none;
  }
  return false;
}

}  // namespace

argument_checks& batch_fits(argument_checks& check, const matmul& r) {
  return check.rule(r.d.rank() == 2 || r.d.extent(0) <= most_products, errc::unsupported, [&] {
    return fmt::format("a batch has at most {} products, not {}", most_products, r.d.extent(0));
  });
}

argument_checks& one_order(argument_checks& check, const matmul& r) {
  return check.rule(!check.good() || order_of_d(r).has_value(), errc::layout_unsupported, [&] {
    return fmt::format("c and d must both be row-major or both column-major: c is {}, d is {}",
                       r.c.to_string(), r.d.to_string());
  });
}

argument_checks& types_have_epilogue(argument_checks& check, const matmul& r) {
  const auto types =
      combination_of(r.a.type(), r.b.type(), r.c.null() ? std::nullopt : std::optional(r.c.type()),
                     r.d.type(), {});
  return check.rule(!check.good() || has_epilogues(*types, r.epilogue), errc::unsupported, [&] {
    return fmt::format("cuBLASLt has no epilogue {} for these types: {}", epilogue_name(r.epilogue),
                       type_names(r));
  });
}

argument_checks& library_takes(argument_checks& check, const matmul& r) {
  if (!check.good()) return check;
  const auto types = types_of(r);
  const column_major_product p = lay_out(r);
  const bool answers_more = !r.bgrad.null() || !r.amax_d.null();
  check.rule(!p.empty() || !answers_more, errc::shape_mismatch, [&] {
    return fmt::format("d has no elements, so there is no gradient and no largest one: {}",
                       r.d.to_string());
  });
  if (!check.good() || p.empty()) return check;
  check.rule(p.k > 0, errc::unsupported,
             [] { return std::string("k is 0: cuBLASLt has no product of nothing"); });
  const bool relu_backward = r.epilogue == epilogue::drelu || r.epilogue == epilogue::drelu_bgrad;
  check.rule(!relu_backward || p.k > 1, errc::unsupported, [&] {
    return fmt::format("epilogue {} needs k above 1, it is 1", epilogue_name(r.epilogue));
  });
  const auto conjugated = [&](const operand& t, blas::op op, const stored_matrix& as) {
    check.rule(can_conjugate(t.view, op, as), errc::layout_unsupported, [&] {
      return fmt::format(
          "cuBLASLt conjugates only what it transposes: {} must be {}-major where d is {}-major, "
          "it is {}",
          t.name, p.swapped ? "column" : "row", p.swapped ? "row" : "column", t.view.to_string());
    });
  };
  conjugated({"a", r.a}, r.op_a, p.swapped ? p.right : p.left);
  conjugated({"b", r.b}, r.op_b, p.swapped ? p.left : p.right);
  const std::int64_t unit = extent_unit(types->computed);
  if (unit == 1) return check;
  const bool fp8 = types->computed == arithmetic::fp8;
  const std::string_view what = fp8 ? "fp8" : "i8";
  check.rule(p.left.transposed && !p.right.transposed, errc::layout_unsupported, [&] {
    return fmt::format(
        "products of {} need k contiguous in both factors, a row-major and b column-major: a is "
        "{}, b is {}",
        what, r.a.to_string(), r.b.to_string());
  });
  check.rule(p.k % unit == 0, errc::unsupported, [&] {
    return fmt::format("k must be a multiple of {} for {}, it is {}", unit, what, p.k);
  });
  check.rule(p.m % unit == 0, errc::unsupported, [&] {
    return fmt::format("d's contiguous extent must be a multiple of {} for {}, it is {}: {}", unit,
                       what, p.m, r.d.to_string());
  });
  const auto aligned = [&](std::string_view name, const any_tensor& t, const stored_matrix& as) {
    // fp8 counts bytes, i8 elements.
    const std::int64_t size = fp8 ? size_of(t.type()) : 1;
    check.rule(as.ld * size % unit == 0 && as.distance * size % unit == 0, errc::layout_unsupported,
               [&] {
                 return fmt::format(
                     "{}'s leading dimension and its distance in a batch must be multiples of {}{} "
                     "for {}: {}",
                     name, unit, fp8 ? " bytes" : "", what, t.to_string());
               });
    begins_at_multiple(check, {name, t}, unit, what);
  };
  aligned("a", r.a, p.swapped ? p.right : p.left);
  aligned("b", r.b, p.swapped ? p.left : p.right);
  aligned("d", r.d, p.d);
  if (!r.c.null()) aligned("c", r.c, p.c);
  return check;
}

argument_checks& begins_at_multiple(argument_checks& check, const operand& t, std::int64_t bytes,
                                    std::string_view by) {
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(t.view.address()) %
                                                static_cast<std::uintptr_t>(bytes));
  return check.rule(beyond == 0, errc::layout_unsupported, [&] {
    return fmt::format("{} must begin at a multiple of {} bytes{}{}, its address ends in {}",
                       t.name, bytes, by.empty() ? "" : " for ", by, beyond);
  });
}

}  // namespace troupe::blaslt
