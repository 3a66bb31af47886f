#include "libraries/jit/requests/launch_rules.hpp"

#include <troupe/jit/attributes.hpp>

namespace troupe::jit {

void attributes::describe(description<attributes>& d) {
  d.about("Loads a kernel and says what it is.", "cuFuncGetAttribute, cuFuncGetParamInfo");
  d.group("kernel", &attributes::kernel);
}

void occupancy::describe(description<occupancy>& d) {
  d.about("Asks how much of a kernel runs at once.", "cuOccupancy…");
  d.group("kernel", &occupancy::kernel);
  describe_block(d);
}

}  // namespace troupe::jit
