// The memory that a world maps ahead, and its connections of NCCL.
#include "device/world/world_core.hpp"

#include <troupe/collective/connect.hpp>

#include <chrono>
#include <utility>

namespace troupe {

void world_core::map_ahead(const any_tensor& of) {
  if (!of.buffer()) return;  // without elements
  const auto& owner = static_cast<const memory_pool&>(*of.buffer()->owner);
  if (!owner.on_device()) return;
  for (const auto& one : devices_) {
    const wire::pool_number number = one->number_of(owner);
    if (number != 0) one->reach(*of.buffer().get(), number);
  }
}

// That the library is there is known when all ranks have begun to connect.
result<void> world_core::connect_at_once() {
  collective::connect request;
  promise<void> source(driver_.get());
  future<void> begun = source.get_future();
  (void)send(request_type_of<collective::connect>(), &request, request.part, {},
             detail::answer_to(std::move(source)));
  constexpr auto longest = std::chrono::seconds(60);
  if (!begun.wait_for(longest)) {
    return error{.code = errc::timed_out,
                 .message = "a device has not begun to connect within a minute"};
  }
  auto outcome = begun.get_result();
  if (outcome || !outcome.error().cause) return outcome;
  return *outcome.error().cause;
}

void world_core::connect_again() {
  if (!transport_.wants_to_connect(page(), clock::now())) return;
  collective::connect request;
  (void)send(request_type_of<collective::connect>(), &request, request.part, {}, {});
}

}  // namespace troupe
