#include "request/integer_values.hpp"

#include <troupe/memory/fill.hpp>
#include <troupe/request/argument_checks.hpp>

#include <string>

namespace troupe::memory {

void fill::describe(description<fill>& d) {
  d.about("Sets every element to one value: to = value.");
  d.writes("to", &fill::to, {}, "destination");
  d.value("value", &fill::value, "value of each element");
  d.factors({&fill::value}, &fill::to);
  d.rule("an integer type of to holds the value", [](argument_checks& check, const fill& r) {
    const dtype type = r.to.type();
    check.rule(!is_integer(type) || integer_type_holds(type, r.value), errc::invalid_argument, [&] {
      return "value is " + text_of(r.value) + ", which " + std::string(to_string(type)) +
             " cannot hold";
    });
  });
}

void set_bytes::describe(description<set_bytes>& d) {
  d.about("Sets every byte of every element (memset).");
  d.writes("to", &set_bytes::to, {}, "destination");
  d.value("byte", &set_bytes::byte, "value of each byte").range(0, 255);
  d.rule("byte is 0 or 1 where to is bool", [](argument_checks& check, const set_bytes& r) {
    check.rule(r.to.type() != dtype::boolean || r.byte <= 1, errc::invalid_argument, [&] {
      return "byte is " + std::to_string(r.byte) + ", it must be 0 or 1 where to is bool";
    });
  });
}

}  // namespace troupe::memory
