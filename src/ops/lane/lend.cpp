#include "ops/validation.hpp"

#include <troupe/ops/lane/lend.hpp>

namespace troupe::lane {

void lend::describe(field_visitor& fields) {
  fields.reads("read", read);
  fields.writes("written", written);
  fields.updates("updated", updated);
  fields.writes("begun", begun);
  fields.reads("ended", ended);
}

result<void> lend::validate() const {
  argument_checks check;
  check.one_element({"begun", begun}).type({"begun", begun}, {dtype::u32});
  check.one_element({"ended", ended}).type({"ended", ended}, {dtype::u32});
  return check.verdict();
}

}  // namespace troupe::lane
