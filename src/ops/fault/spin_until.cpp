#include "ops/validation.hpp"

#include <troupe/ops/fault/spin_until.hpp>

#include <fmt/format.h>

namespace troupe::fault {

void spin_until::describe(field_visitor& fields) {
  fields.reads("flag", flag);
  fields.updates("output", output, add);
  fields.value("value", value);
  fields.value("add", add);
  fields.value("at_most_ns", at_most_ns);
}

result<void> spin_until::validate() const {
  argument_checks check;
  check.one_element({"flag", flag}).type({"flag", flag}, {dtype::u32});
  if (!output.null()) {
    check.tensor({"output", output}).type({"output", output}, {dtype::f32});
    check.rule(output.packed(), errc::layout_unsupported,
               [&] { return "output must be packed, it is " + output.to_string(); });
  }
  return check
      .rule(at_most_ns >= 0 && at_most_ns <= longest_spin_ns, errc::invalid_argument,
            [&] {
              return fmt::format("at_most_ns is {}, not within 0 and {}", at_most_ns,
                                 longest_spin_ns);
            })
      .verdict();
}

}  // namespace troupe::fault
