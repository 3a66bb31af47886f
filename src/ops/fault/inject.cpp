#include <troupe/ops/fault/inject.hpp>

namespace troupe::fault {

void inject::describe(field_visitor& fields) {
  fields.option("what", what, kind::write_frozen);
  fields.reads("target", target);
  fields.writes("output", output);
}

result<void> inject::validate() const {
  if (what == kind::write_frozen && (target.null() || target.empty())) {
    return error{.code = errc::invalid_argument, .message = "write_frozen needs a target"};
  }
  return {};
}

}  // namespace troupe::fault
