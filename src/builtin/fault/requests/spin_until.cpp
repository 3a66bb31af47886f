#include <troupe/fault/spin_until.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

namespace troupe::fault {

void spin_until::describe(description<spin_until>& d) {
  using self = spin_until;
  d.about("Keeps its lane busy until the program sets a flag, and writes then.");
  d.reads("flag", &self::flag, {1}, "flag; the program stores anything but 0").in_host_memory();
  d.updates("output", &self::output, {}, "result").updated_where(d.is(&self::add)).optional();
  d.value("value", &self::value, "what each element of the output becomes");
  d.value("add", &self::add, "the value is added instead");
  d.value("at_most_ns", &self::at_most_ns, "time after which it ends in any case")
      .range(0, longest_spin_ns);
  d.layouts(layout::packed, {&self::output});
  d.same_type({&self::flag}, {dtype::u32});
  d.same_type({&self::output}, {dtype::f32});
}

}  // namespace troupe::fault
