#include "device/world/world_transport.hpp"

#include "device/world/device_links.hpp"
#include "wire/world_algorithms.hpp"
#include "wire/world_bells.hpp"

#include <troupe/collective/connect.hpp>
#include <troupe/collective/distribution.hpp>
#include <troupe/collective/exchange.hpp>
#include <troupe/collective/reduction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <ranges>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using collective::reduction;

// The tests have a library that connects workers of the CPU backend.
bool is_of_tests(const local_device& one) {
  const auto& environment = one.config().worker_environment;
  return environment && std::ranges::find(*environment, "TROUPE_TEST_NCCL=1") != environment->end();
}

std::string exclusion(const std::vector<std::shared_ptr<local_device>>& devices,
                      const world_config& config, bool through_host) {
  if (config.transport == transport::peer) return "the world's transport is peer";
  if (config.deterministic) return "the world is deterministic, which NCCL is not";
  if (devices.size() < 2) return "NCCL connects at least two GPUs";
  if (through_host) return "there are devices that cannot read each other's memory";
  for (const auto& one : devices) {
    if (!one->memory().source() && !is_of_tests(*one)) {
      return fmt::format("device {} is of the CPU backend, and NCCL connects GPUs", one->ordinal());
    }
    for (const auto& other : devices) {
      if (other == one || link_between(*one, *other).through != device_link::kind::same_gpu)
        continue;
      return fmt::format("devices {} and {} are on one GPU, which NCCL refuses", one->ordinal(),
                         other->ordinal());
    }
  }
  return {};
}

bool is_real_or_complex(dtype type) noexcept {
  return type == dtype::f32 || type == dtype::f64 || is_complex(type);
}
template <class R>
concept is_reduction = requires(const R& r) {
  { r.op } -> std::convertible_to<reduction>;
};

// Why NCCL does not do that; empty if it does.
template <class R>
std::string_view why_not(const R& r) {
  if constexpr (is_reduction<R>) {
    for (std::size_t k = 0; k < r.x.size(); ++k) {
      const dtype type = r.x[k].type();
      const bool has_factor = r.factor != 1.0 || !r.factors.empty();
      if (!r.y[k].null() && r.y[k].address() == r.x[k].address())
        return "in place: the input of a lost rank would be lost";
      if (type == dtype::boolean || type == dtype::i16 || type == dtype::u16)
        return "bool, i16 and u16: it has no such type";
      if (is_float(type) && (r.op == reduction::min || r.op == reduction::max))
        return "min and max of floats: a NaN would not win";
      if (has_factor && !is_real_or_complex(type))
        return "factors of 16- and 8-bit floats: it would round them";
      if (!r.factors.empty() && r.op == reduction::avg) return "factors of each rank with avg";
    }
  } else if constexpr (std::same_as<R, collective::broadcast> ||
                       std::same_as<R, collective::exchange>) {
    for (const auto* list : {&r.x, &r.y}) {
      for (const any_tensor& t : *list)
        if (!t.null() && !t.packed()) return "tensors that are not packed";
    }
  }
  return {};
}

/// A request that NCCL might do.
struct candidate {
  std::string_view why_not{};
  bool is_reduction = false;
  std::int64_t bytes = 0;  // a rank's
};

template <class... Requests>
std::optional<candidate> find(const request_type& type, const void* request, std::size_t ranks) {
  std::optional<candidate> found;
  const auto look = [&]<class R>(const R* of) {
    if (type.id != request_type_of<R>().id) return;
    found.emplace();
    found->why_not = why_not(*of);
    found->is_reduction = is_reduction<R>;
    for (const any_tensor& t : of->x)
      found->bytes += t.null() ? 0 : t.count() * size_of(t.type());
    found->bytes /= static_cast<std::int64_t>(ranks);
  };
  (look(static_cast<const Requests*>(request)), ...);
  return found;
}

}  // namespace

world_transport::world_transport(const std::vector<std::shared_ptr<local_device>>& devices,
                                 const world_config& config, bool through_host)
    : devices_(devices),
      how_(config.transport),
      excluded_(exclusion(devices, config, through_host)) {}

bool world_transport::is_connect(const request_type& type) noexcept {
  return type.id == request_type_of<collective::connect>().id;
}

bool world_transport::is_ready(const wire::world_page& page) const noexcept {
  if (current_ == 0 || wire::is_broken(page, current_)) return false;
  return std::all_of(page.nccl, page.nccl + devices_.size(), [&](const auto& one) {
    return one.connected.load(std::memory_order_acquire) >= current_;
  });
}

result<std::uint64_t> world_transport::connection_for(const request_type& type, const void* request,
                                                      wire::world_page& page) {
  if (!excluded_.empty() || (how_ == transport::automatic && !has_connected())) {
    return std::uint64_t{0};
  }
  const auto one =
      find<collective::all_reduce, collective::reduce, collective::reduce_scatter,
           collective::broadcast, collective::all_gather, collective::gather, collective::scatter,
           collective::all_to_all, collective::all_to_allv, collective::exchange>(type, request,
                                                                                  devices_.size());
  if (!one) return std::uint64_t{0};
  if (how_ == transport::nccl && !one->why_not.empty()) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("NCCL does not do that (world_config::transport): {}",
                                        one->why_not)};
  }
  const auto& limits = wire::limits_for(true, static_cast<int>(devices_.size()));
  const bool is_wanted = how_ == transport::nccl || (one->why_not.empty() && one->is_reduction &&
                                                     one->bytes >= limits.least_nccl);
  const std::lock_guard lock(mutex_);
  break_if_lost(page);
  if (!is_wanted || !is_ready(page)) return std::uint64_t{0};
  ++operations_;
  delay_ = 0ms;
  return current_;
}

// With the mutex. The worker that was to connect is gone, or the one that has.
void world_transport::break_if_lost(wire::world_page& page) {
  if (current_ == 0 || wire::is_broken(page, current_)) return;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    if (devices_[rank]->generation() > generations_[rank]) {
      return wire::break_connection(page, current_);
    }
  }
}

bool world_transport::wants_to_connect(wire::world_page& page, clock::time_point now) {
  if (!excluded_.empty() || !has_connected()) return false;
  const std::lock_guard lock(mutex_);
  break_if_lost(page);
  if (current_ != 0 && !wire::is_broken(page, current_)) return false;
  if (now < next_attempt_) return false;
  const auto is_lost = [&](const auto& one) { return one->state() != device_state::ready; };
  if (std::ranges::any_of(devices_, is_lost)) return false;
  constexpr auto longest = 60'000ms;
  delay_ = std::clamp<std::chrono::milliseconds>(2 * delay_, 100ms, longest);
  next_attempt_ = now + delay_;
  return true;
}

void world_transport::connects(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  current_ = number;
  has_connected_.store(true, std::memory_order_relaxed);
  ++attempts_;
  generations_.clear();
  // Those of the workers that will begin to connect: the present ones, or the next.
  for (const auto& one : devices_) {
    const bool comes = one->state() != device_state::ready;
    generations_.push_back(one->generation() + (comes ? 1 : 0));
  }
}

nccl_health world_transport::health(const wire::world_page& page) const {
  using connection = nccl_health::connection;
  const std::lock_guard lock(mutex_);
  nccl_health now{.attempts = attempts_, .operations = operations_};
  if (current_ != 0) {
    now.state = wire::is_broken(page, current_) ? connection::broken
                : is_ready(page)                ? connection::ready
                                                : connection::under_way;
  }
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    const wire::world_page::nccl_rank& words = page.nccl[rank];
    if (current_ == 0 || words.failed.load(std::memory_order_acquire) != current_) continue;
    now.reason += fmt::format("{}rank {}: {}", now.reason.empty() ? "" : "; ", rank, words.why);
  }
  return now;
}

}  // namespace troupe
