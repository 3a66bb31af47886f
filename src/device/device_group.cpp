#include "device/endpoint.hpp"
#include "device/selection/pick.hpp"

#include <troupe/device/device_group.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe {

device_group::device_group(std::vector<device> devices)
    : devices_(std::move(devices)), turn_(std::make_shared<std::atomic<std::uint64_t>>(0)) {
  const auto refuse = [](std::string why) {
    throw failure({.code = errc::invalid_argument, .message = "device_group: " + std::move(why)});
  };
  if (devices_.empty()) refuse("it needs a device");
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (devices_[i].core() != devices_[k].core()) continue;
      refuse(fmt::format("device {} is in it twice", devices_[i].ordinal()));
    }
  }
}

std::vector<device_snapshot> device_group::snapshots(const std::vector<any_tensor>& near) const {
  std::vector<device_snapshot> all;
  for (const device& one : devices_) {
    device_endpoint& core = *one.core();
    device_snapshot& now = all.emplace_back();
    now.ordinal = core.ordinal();
    now.state = core.state();
    now.architecture = core.description().architecture;
    now.free_bytes = core.free_bytes();
    now.in_flight = core.statistics().in_flight;
    for (const any_tensor& t : near) {
      if (t.buffer() && t.buffer()->owner == &core.memory())
        now.near_bytes += static_cast<std::uint64_t>(t.count() * size_of(t.type()));
    }
  }
  return all;
}

result<device> device_group::pick(const pick_options& options) const {
  const std::uint64_t turn = options.policy == pick_policy::round_robin
                                 ? turn_->fetch_add(1, std::memory_order_relaxed)
                                 : 0;
  const auto best = pick_from(snapshots(options.near), options, turn);
  if (!best) return best.error();
  return devices_[*best];
}

bool detail::has_stopped(const device& one) noexcept { return one.core()->gone(); }

detail::device_work detail::work_of(const device& one) {
  const device_endpoint& core = *one.core();
  device_work now{.in_flight = core.statistics().in_flight};
  switch (core.state()) {
    case device_state::ready:
      break;
    case device_state::starting:
    case device_state::recovering:
      now.rank = 1;
      break;
    case device_state::stopped:
    case device_state::condemned:
      now.rank = 2;
      break;
  }
  return now;
}

}  // namespace troupe
