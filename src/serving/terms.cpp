#include <troupe/serving/terms.hpp>

namespace troupe::serving {

std::string_view to_string(refusal why) noexcept {
  switch (why) {
    case refusal::none:
      return "none";
    case refusal::cost:
      return "cost";
    case refusal::items:
      return "items";
    case refusal::bytes:
      return "bytes";
    case refusal::device_time:
      return "device_time";
    case refusal::deadline:
      return "deadline";
    case refusal::tenant:
      return "tenant";
    case refusal::quarantine:
      return "quarantine";
    case refusal::closed:
      return "closed";
  }
  return "unknown";
}

std::string_view to_string(closing why) noexcept {
  switch (why) {
    case closing::items:
      return "items";
    case closing::cost:
      return "cost";
    case closing::delay:
      return "delay";
    case closing::free_lane:
      return "free_lane";
    case closing::preferred:
      return "preferred";
    case closing::deadline:
      return "deadline";
    case closing::isolation:
      return "isolation";
  }
  return "unknown";
}

}  // namespace troupe::serving
