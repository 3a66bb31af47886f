#include "device/local/device_registry.hpp"
#include "device/world/world_core.hpp"
#include "request/description/table.hpp"

#include <troupe/device/world.hpp>
#include <troupe/request/outputs.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

std::shared_ptr<local_device> local(const std::shared_ptr<device_endpoint>& core) {
  return std::dynamic_pointer_cast<local_device>(core);
}

world made(result<std::shared_ptr<world_core>> core) { return world(std::move(core).value()); }

result<world_part*> part_of(any_request& r) {
  if (const auto at = r.type().fields->part_at) return &value_at<world_part>(r.data(), *at);
  return error{.code = errc::unsupported,
               .message = fmt::format("{} is a request for one device", r.type().name)};
}

}  // namespace

world system::world(const std::vector<troupe::device>& devices) {
  return this->world(devices, world_config{});
}

world system::world(const std::vector<troupe::device>& devices, const world_config& config) {
  const std::shared_ptr<device_registry> registry = device_registry::of(*this);
  std::vector<std::shared_ptr<local_device>> cores;
  for (const troupe::device& one : devices) {
    auto core = local(one.core());
    if (!core || !registry->owns(*core)) {
      throw failure(
          {.code = errc::invalid_argument,
           .message = fmt::format("device {} belongs to another system, or another device "
                                  "has its number",
                                  one.ordinal())});
    }
    cores.push_back(std::move(core));
  }
  return made(world_core::create(std::move(cores), config, registry->order()));
}

world::world(std::shared_ptr<world_core> core) noexcept : core_(std::move(core)) {}
world::~world() = default;
world::world(const world&) = default;
world& world::operator=(const world&) = default;

std::size_t world::size() const noexcept { return core_->devices().size(); }

device world::rank(std::size_t rank) const { return device(core_->devices().at(rank)); }

world world::subset(std::span<const std::size_t> ranks) const {
  std::vector<std::shared_ptr<local_device>> some;
  for (const std::size_t rank : ranks) {
    if (rank >= size()) {
      throw failure({.code = errc::invalid_argument,
                     .message = fmt::format("subset: the world has {} ranks; there is no rank {}",
                                            size(), rank)});
    }
    some.push_back(core_->devices()[rank]);
  }
  return made(world_core::create(std::move(some), core_->config(), core_->order()));
}

world world::without(const device& one) const {
  auto others = core_->devices();
  std::erase_if(others, [&](const auto& core) { return core == one.core(); });
  return made(world_core::create(std::move(others), core_->config(), core_->order()));
}

result<std::vector<any_tensor>> world::allocate(dtype type, const shape& extents) const {
  std::vector<any_tensor> all;
  for (const auto& core : core_->devices()) {
    auto one = device(core).allocate(type, extents);
    if (!one) return std::move(one).error();
    core_->map_ahead(all.emplace_back(*std::move(one)));
  }
  return all;
}

std::vector<any_tensor> world::by_rank(std::span<const any_tensor> some) const {
  const auto& all = core_->devices();
  std::vector<any_tensor> list(some.size() * all.size());
  for (std::size_t item = 0; item < some.size(); ++item) {
    const detail::buffer_ref& buffer = some[item].buffer();
    const auto home = std::ranges::find_if(
        all, [&](const auto& one) { return buffer && buffer->owner == &one->memory(); });
    const auto rank = home == all.end() ? 0 : home - all.begin();
    list[item * all.size() + static_cast<std::size_t>(rank)] = some[item];
  }
  return list;
}

future<void> world::ask(const request_type& type, void* request, world_part& part,
                        const request_options& options) const {
  promise<void> source(&core_->driver());
  future<void> answer = source.get_future();
  (void)core_->send(type, request, part, options, detail::answer_to(std::move(source)));
  return answer;
}

result<void> world::tell(const request_type& type, void* request, world_part& part,
                         const request_options& options) const {
  return core_->send(type, request, part, options, {});
}

future<void> world::ask(any_request r, const request_options& options) const {
  auto part = part_of(r);
  if (!part) return make_failed_future<void>(std::move(part).error());
  return ask(r.type(), r.data(), **part, options);
}

result<void> world::allocate_outputs(any_request& r) const {
  auto part = part_of(r);
  if (!part) return std::move(part).error();
  (*part)->words.assign(size(), any_tensor());  // the number of ranks
  std::size_t next = 0;
  const auto made =
      troupe::allocate_outputs(r.type(), r.data(), [&](dtype type, const shape& extents) {
        return device(core_->devices()[next++ % size()]).allocate(type, extents);
      });
  if (!made) return made.error();
  return {};
}

world_health world::health() const { return core_->health(); }

}  // namespace troupe
