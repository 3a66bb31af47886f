#include "request/integer_values.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace troupe {
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
      // 2^bits is exact in f64, but the type's maximum may not be.
      const double number = value.as<double>();
      constexpr Integer half = std::numeric_limits<Integer>::max() / 2 + 1;
      constexpr double limit = 2.0 * static_cast<double>(half);
      return number >= static_cast<double>(std::numeric_limits<Integer>::min()) && number < limit &&
             number == static_cast<double>(static_cast<Integer>(number));
    }
  }
  return false;
}

}  // namespace

bool integer_type_holds(dtype type, const scalar& value) {
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
      return false;
  }
}

std::string text_of(const scalar& value) {
  switch (value.what()) {
    case scalar::kind::integer:
      return std::to_string(value.as<std::int64_t>());
    case scalar::kind::unsigned_integer:
      return std::to_string(value.as<std::uint64_t>());
    case scalar::kind::real:
    case scalar::kind::complex:
      return fmt::format("{}", value.as<double>());
  }
  return {};
}

}  // namespace troupe
