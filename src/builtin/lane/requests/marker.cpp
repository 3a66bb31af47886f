#include <troupe/lane/marker.hpp>

namespace troupe::lane {

void marker::describe(description<marker>& d) {
  d.about(
      "Does nothing: it is answered once every earlier request of its lane has been, and every "
      "earlier request of any lane that writes `after`.");
  d.reads("after", &marker::after, {}, "tensor whose writers are waited for").optional();
}

}  // namespace troupe::lane
