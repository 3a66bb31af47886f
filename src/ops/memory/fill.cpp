#include "ops/integer_values.hpp"
#include "ops/validation.hpp"

#include <troupe/ops/memory/fill.hpp>

#include <string>

namespace troupe::memory {

void fill::describe(field_visitor& f) {
  f.writes("to", to);
  f.value("value", value);
}

result<void> fill::validate() const {
  argument_checks check;
  check.tensor({"to", to}).written({"to", to}).factor("value", value, to.type());
  return check
      .rule(!is_integer(to.type()) || integer_type_holds(to.type(), value), errc::invalid_argument,
            [&] {
              return "value is " + text_of(value) + ", which " + std::string(to_string(to.type())) +
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
