#include "device/endpoint.hpp"

#include <troupe/device/unsent.hpp>
#include <troupe/request/fields.hpp>

#include <algorithm>
#include <memory>
#include <string>

namespace troupe {

void taint_unsent(const device& on, any_request& r, const error& why) {
  device_endpoint& core = *on.core();
  // After everything sent so far, before everything to come.
  const std::uint64_t next = std::max<std::uint64_t>(core.next_ticket(), 1);
  const auto cause =
      std::make_shared<failed_writer>(failed_writer{std::string(r.type().name), why});
  for_each_tensor(r.type(), r.data(), [&](std::string_view, any_tensor& t, access role) {
    if (role != access::write || !t.buffer()) return;
    auto& pool = static_cast<memory_pool&>(*t.buffer()->owner);
    const any_tensor::byte_range reach = t.reach();
    const std::int64_t first = t.address() - t.buffer()->address;
    pool.taints().taint(*t.buffer().get(),
                        {.begin = static_cast<std::uint64_t>(first + reach.begin),
                         .end = static_cast<std::uint64_t>(first + reach.end)},
                        {.device = &core.memory(), .ticket = next - 1}, cause);
  });
}

}  // namespace troupe
