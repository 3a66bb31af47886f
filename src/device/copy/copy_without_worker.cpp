#include "device/copy/copy_without_worker.hpp"

#include <troupe/memory/copy.hpp>

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace troupe {
namespace {

// Returns the reason if the content cannot be read, as for a request that reads it.
std::optional<error> unreadable(device_endpoint& core, const any_tensor& t) {
  const detail::buffer_ref& buffer = t.buffer();
  const bool on_device = buffer && buffer->owner == &core.memory();
  if (!on_device && (!buffer || buffer->owner != &core.host_memory())) {
    return error{.code = errc::foreign_buffer,
                 .message = "from is not in memory that this device handed out"};
  }
  if ((buffer->state.load(std::memory_order_acquire) & buffer_released) != 0) {
    return error{.code = errc::stale_buffer, .message = "from is stale: it was released"};
  }
  const taint_cause culprit = core.tainted_by(t);
  if (!culprit) return std::nullopt;
  return taint_book::refusal("from", culprit);
}

// Preconditions: equal extents and types, at least one element.
void copy_elements(const any_tensor& from, const any_tensor& to) {
  const auto element = static_cast<std::size_t>(size_of(from.type()));
  if (from.packed() && to.packed()) {
    std::memcpy(to.address(), from.address(), static_cast<std::size_t>(from.count()) * element);
    return;
  }
  const auto bytes = static_cast<std::int64_t>(element);
  std::array<std::int64_t, max_rank> at{};
  std::int64_t source = 0;
  std::int64_t target = 0;
  for (int dimension = 0; dimension >= 0;) {
    std::memcpy(to.address() + target * bytes, from.address() + source * bytes, element);
    // The next index in row-major order; none after the end of the first dimension.
    for (dimension = from.rank() - 1; dimension >= 0; --dimension) {
      std::int64_t& index = at[static_cast<std::size_t>(dimension)];
      source += from.stride(dimension);
      target += to.stride(dimension);
      if (++index < from.extent(dimension)) break;
      source -= index * from.stride(dimension);
      target -= index * to.stride(dimension);
      index = 0;
    }
  }
}

}  // namespace

bool can_read_without_worker(device_endpoint& core) noexcept {
  return core.state() == device_state::stopped && !core.memory().on_device();
}

future<bool> copy_without_worker(const std::shared_ptr<device_endpoint>& core,
                                 const any_tensor& from, const any_tensor& to) {
  if (auto valid = validate(memory::copy{.from = from, .to = to}); !valid) {
    return make_failed_future<bool>(std::move(valid).error());
  }
  auto answer = std::make_shared<promise<bool>>();
  future<bool> done = answer->get_future();
  const auto copy = [core, from, to, answer] {
    if (!can_read_without_worker(*core)) return answer->set_value(false);
    if (auto why = unreadable(*core, from)) return answer->set_error(*std::move(why));
    if (!from.empty()) copy_elements(from, to);
    answer->set_value(true);
  };
  if (!core->execute(copy)) copy();  // the device has no thread any more
  return done;
}

}  // namespace troupe
