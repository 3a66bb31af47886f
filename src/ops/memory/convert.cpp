#include "ops/validation.hpp"

#include <troupe/ops/memory/convert.hpp>

namespace troupe::memory {

void convert::describe(field_visitor& f) {
  f.reads("from", from);
  f.updates("to", to, to.same_view(from));
}

result<void> convert::validate() const {
  argument_checks check;
  check.tensor({"from", from}).tensor({"to", to}).written({"to", to});
  check.same_extents({"to", to}, {"from", from});
  return check.apart_or_same({"to", to}, {"from", from}).verdict();
}

}  // namespace troupe::memory
