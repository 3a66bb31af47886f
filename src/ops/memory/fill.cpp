#include "ops/validation.hpp"

#include <troupe/ops/memory/fill.hpp>

#include <limits>
#include <string>

namespace troupe::memory {
namespace {

template <class Integer>
bool holds(const scalar& value) {
  switch (value.what()) {
    case scalar::kind::integer:
      return std::in_range<Integer>(value.as<std::int64_t>());
    case scalar::kind::unsigned_integer:
      return std::in_range<Integer>(value.as<std::uint64_t>());
    case scalar::kind::real:
    case scalar::kind::complex: {
      // 2^bits is exact in f64 where the type's maximum may not be.
      const double number = value.as<double>();
      constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
      constexpr double limit = 2.0 * static_cast<double>(half);
      return number >= static_cast<double>(std::numeric_limits<Integer>::min()) && number < limit &&
             number == static_cast<double>(static_cast<Integer>(number));
    }
  }
  return false;
}

bool holds(dtype type, const scalar& value) {
  switch (type) {
    case dtype::i8:
      return holds<std::int8_t>(value);
    case dtype::u8:
      return holds<std::uint8_t>(value);
    case dtype::i16:
      return holds<std::int16_t>(value);
    case dtype::u16:
      return holds<std::uint16_t>(value);
    case dtype::i32:
      return holds<std::int32_t>(value);
    case dtype::u32:
      return holds<std::uint32_t>(value);
    case dtype::i64:
      return holds<std::int64_t>(value);
    case dtype::u64:
      return holds<std::uint64_t>(value);
    default:
      return true;
  }
}

}  // namespace

void fill::describe(field_visitor& f) {
  f.writes("to", to);
  f.value("value", value);
}

result<void> fill::validate() const {
  argument_checks check;
  check.tensor({"to", to}).written({"to", to}).factor("value", value, to.type());
  return check
      .rule(holds(to.type(), value), errc::invalid_argument,
            [&] {
              const std::string text = value.what() == scalar::kind::integer
                                           ? std::to_string(value.as<std::int64_t>())
                                       : value.what() == scalar::kind::unsigned_integer
                                           ? std::to_string(value.as<std::uint64_t>())
                                           : std::to_string(value.as<double>());
              return "value is " + text + ", which " + std::string(to_string(to.type())) +
                     " cannot hold";
            })
      .verdict();
}

void set_bytes::describe(field_visitor& f) {
  f.writes("to", to);
  f.value("byte", byte);
}

result<void> set_bytes::validate() const {
  const std::int64_t largest = to.type() == dtype::boolean ? 1 : 255;
  argument_checks check;
  return check.tensor({"to", to})
      .written({"to", to})
      .rule(byte >= 0 && byte <= largest, errc::invalid_argument,
            [&] {
              return "byte is " + std::to_string(byte) + ", not within 0 and " +
                     std::to_string(largest);
            })
      .verdict();
}

}  // namespace troupe::memory
