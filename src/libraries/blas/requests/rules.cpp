#include "libraries/blas/requests/rules.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace troupe::blas {

const type_rows& product_rows() {
  using enum dtype;
  static const type_rows rows{{f32, f32, f32},    {f64, f64, f64},   {c64, c64, c64},
                              {c128, c128, c128}, {f16, f16, f16},   {f16, f16, f32},
                              {bf16, bf16, bf16}, {bf16, bf16, f32}, {i8, i8, i32}};
  return rows;
}

argument_checks& product_types(argument_checks& check, const operand& a, const operand& b,
                               const operand& c) {
  check.type(a,
             {dtype::f32, dtype::f64, dtype::c64, dtype::c128, dtype::f16, dtype::bf16, dtype::i8});
  check.same_type(b, a);
  switch (a.view.type()) {
    case dtype::f16:
    case dtype::bf16:
      return check.type(c, {a.view.type(), dtype::f32});
    case dtype::i8:
      return check.type(c, {dtype::i32});
    default:
      return check.same_type(c, a);
  }
}

argument_checks& product_factor(argument_checks& check, std::string_view name, const scalar& value,
                                dtype c) {
  check.factor(name, value, c);
  if (c != dtype::i32) return check;
  // Compared before it is converted: an out-of-range conversion would be undefined.
  const double number = value.as<double>();
  const bool fits = number >= std::numeric_limits<std::int32_t>::min() &&
                    number <= std::numeric_limits<std::int32_t>::max() &&
                    number == static_cast<double>(static_cast<std::int32_t>(number));
  return check.rule(fits, errc::invalid_argument, [&] {
    return std::string(name) + " must be a 32-bit integer for a product of i8, it is " +
           std::to_string(number);
  });
}

}  // namespace troupe::blas
