#include "ops/validation.hpp"

#include <troupe/ops/memory/copy.hpp>

namespace troupe::memory {

void copy::describe(field_visitor& f) {
  f.reads("from", from);
  // A copy of a view to itself leaves the content as it is: no overwrite.
  f.updates("to", to, to.same_view(from));
}

result<void> copy::validate() const {
  argument_checks check;
  check.tensor({"from", from}).tensor({"to", to}).written({"to", to});
  check.same_type({"to", to}, {"from", from}).same_extents({"to", to}, {"from", from});
  return check.apart_or_same({"to", to}, {"from", from}).verdict();
}

}  // namespace troupe::memory
