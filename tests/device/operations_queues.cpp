#include "operations_queues.hpp"

#include "gpu/reply_turn.hpp"
#include "operations.hpp"
#include "unit/worker/fake_accelerator.hpp"

#include <cstdlib>

namespace troupe::test {
namespace {

using testing_worker::fake_lane;

result<void> enqueue_hold(void*, const void* request, lane_context& where, std::byte*) {
  auto& lane = static_cast<fake_lane&>(where);
  lane.enqueue([&lane, r = *static_cast<const hold*>(request)] {
    if (!r.begun.null()) {
      std::atomic_ref(*r.begun.data<std::uint32_t>()).store(1, std::memory_order_release);
    }
    const std::atomic_ref flag(*r.flag.data<std::uint32_t>());
    while (flag.load(std::memory_order_acquire) == 0 && !lane.ended())
      std::this_thread::yield();
    if (!lane.ended()) write_result(r);
  });
  return {};
}

result<void> enqueue_sum(void*, const void* request, lane_context& where, std::byte* reply) {
  static_cast<fake_lane&>(where).enqueue([r = *static_cast<const sum*>(request), reply] {
    const testing_worker::reply_turn here(reply);
    double total = 0;
    for (std::int64_t i = 0; i < r.input.count(); ++i)
      total += static_cast<double>(r.input.data<float>()[i]);
    *reinterpret_cast<double*>(reply) = total;
  });
  return {};
}

}  // namespace

std::string queues_plugin() {
  const char* const path = std::getenv("TROUPE_TEST_PLUGIN");
  return path != nullptr ? path : "";
}

void add_queue_operations(operation_table& table) {
  table.insert({.type = &request_type_of<hold>(), .run = &enqueue_hold});
  table.insert({.type = &request_type_of<sum>(), .run = &enqueue_sum});
}

}  // namespace troupe::test
