#include <troupe/serving/cascade.hpp>

#include <string>

namespace troupe::serving::detail {

bool is_gone(errc code) noexcept {
  return code == errc::device_stopped || code == errc::device_unavailable ||
         code == errc::device_condemned;
}

int rank_of(device_state state) noexcept {
  switch (state) {
    case device_state::ready:
      return 0;
    case device_state::starting:
    case device_state::recovering:
      return 1;
    case device_state::stopped:
    case device_state::condemned:
      return 2;
  }
  return 2;
}

bool has_no_room(errc code) noexcept {
  return code == errc::deadline_exceeded || code == errc::timed_out || code == errc::mailbox_full;
}

error nothing_given(const char* to, const char* what) {
  return {.code = errc::invalid_argument,
          .message = std::string(to) + ": it needs at least one " + what};
}

}  // namespace troupe::serving::detail
