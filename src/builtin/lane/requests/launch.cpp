#include <troupe/lane/launch.hpp>

namespace troupe::lane {

void launch::describe(description<launch>& d) {
  d.about(
      "Launches a kernel that does nothing, in its lane: the smallest work that a GPU can be "
      "given.");
}

}  // namespace troupe::lane
