#include <troupe/dnn/plans.hpp>

namespace troupe::dnn {

void plan_counts::describe(description<plan_counts>& d) {
  using c = plan_counts;
  d.about("How a worker came by its compiled plans.");
  d.value("built", &c::built, "compiled for a request");
  d.value("restored", &c::restored, "loaded from bytes, because a request asked for them");
  d.value("ahead", &c::ahead, "loaded from bytes before a request asked for them");
  d.value("damaged", &c::damaged, "bytes that could not be loaded");
  d.value("failed", &c::failed, "the library had no engine");
  d.value("kept", &c::kept, "plans in the worker now");
  d.value("pending", &c::pending, "being compiled or loaded, or waiting for that");
}

void plans::describe(description<plans>& d) {
  d.about("Asks how the worker in service came by its compiled plans; on the CPU it has none.");
}

}  // namespace troupe::dnn
