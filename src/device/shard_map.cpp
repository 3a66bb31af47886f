#include "device/endpoint.hpp"
#include "device/selection/rendezvous.hpp"

#include <troupe/device/shard_map.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace troupe {

shard_map::shard_map(const device_group& devices, const std::vector<double>& weights)
    : devices_(devices.devices()) {
  const auto refuse = [](std::string why) {
    throw failure({.code = errc::invalid_argument, .message = "shard_map: " + std::move(why)});
  };
  if (!weights.empty() && weights.size() != devices_.size()) {
    refuse(fmt::format("there must be a weight for each of {} devices; there are {}",
                       devices_.size(), weights.size()));
  }
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    if (!(weight > 0) || !std::isfinite(weight))
      refuse(fmt::format("weight {} must be finite and above 0; it is {}", i, weight));
    const std::string& uuid = devices_[i].description().uuid;
    const auto sharing = std::ranges::count_if(
        devices_, [&](const device& one) { return one.description().uuid == uuid; });
    std::string identity = uuid;
    if (uuid.empty() || sharing > 1) identity += fmt::format("#{}", devices_[i].ordinal());
    drawings_.push_back({.seed = rendezvous_seed(identity), .weight = weight});
  }
}

std::vector<device> shard_map::ranking(std::string_view key) const {
  std::vector<std::pair<double, std::size_t>> drawn;
  drawn.reserve(devices_.size());
  for (std::size_t i = 0; i < devices_.size(); ++i)
    drawn.emplace_back(rendezvous_draw(drawings_[i].seed, key, drawings_[i].weight), i);
  std::ranges::sort(drawn, std::greater());
  std::vector<device> all;
  all.reserve(drawn.size());
  for (const auto& [number, i] : drawn)
    all.push_back(devices_[i]);
  return all;
}

result<device> shard_map::device_of(std::string_view key) const {
  for (const device& one : ranking(key)) {
    if (!one.core()->gone()) return one;
  }
  return error{.code = errc::device_stopped, .message = "all devices of the map have stopped"};
}

}  // namespace troupe
