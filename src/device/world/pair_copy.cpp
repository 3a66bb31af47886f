// A copy between two devices is a request for the world of the two.
#include "device/copy/copy_between.hpp"
#include "device/local/sibling_devices.hpp"
#include "device/world/device_links.hpp"
#include "device/world/world_core.hpp"

#include <troupe/collective/exchange.hpp>
#include <troupe/device/world.hpp>
#include <troupe/memory/copy.hpp>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

std::shared_ptr<world_core> world_of(const std::shared_ptr<local_device>& one,
                                     const std::shared_ptr<local_device>& other) {
  const auto siblings = one->siblings();
  if (!siblings || other->siblings() != siblings) return nullptr;
  const auto [first, second] =
      one->ordinal() < other->ordinal() ? std::pair(one, other) : std::pair(other, one);
  const std::lock_guard lock(siblings->mutex);
  std::shared_ptr<world_core>& known = siblings->pairs[{first->ordinal(), second->ordinal()}];
  if (!known || known->devices().front() != first || known->devices().back() != second) {
    // Nothing passes through its staging memory.
    auto made = world_core::create({first, second}, {.staging_bytes = world_config::least_staging},
                                   siblings->order);
    known = made ? *std::move(made) : nullptr;
  }
  return known;
}

}  // namespace

std::optional<future<void>> copy_between(const std::shared_ptr<device_endpoint>& source,
                                         const std::shared_ptr<device_endpoint>& target,
                                         const any_tensor& from, const any_tensor& to) {
  const auto reads = std::dynamic_pointer_cast<local_device>(target);
  const auto owns = std::dynamic_pointer_cast<local_device>(source);
  if (!reads || !owns || reads->gone() || owns->gone() || reads->completions().is_copy()) {
    return std::nullopt;
  }
  if (auto valid = validate(memory::copy{.from = from, .to = to}); !valid) {
    return make_failed_future<void>(std::move(valid).error());
  }
  // Two copies through host memory are faster than staging in pieces.
  if (!link_between(*reads, *owns).is_direct()) return std::nullopt;
  const std::shared_ptr<world_core> both = world_of(owns, reads);
  if (!both) return std::nullopt;
  const world pair(both);
  collective::exchange request{.x = pair.by_rank({from}), .y = pair.by_rank({to})};
  promise<void> source_of(&both->driver());
  future<void> answer = source_of.get_future();
  // Its caller knows of no world: the failure of the rank is that of the copy.
  (void)both->send(
      request_type_of<collective::exchange>(), &request, request.part, {},
      [done = detail::answer_to(std::move(source_of))](std::byte* reply, error* failure) mutable {
        const bool is_of_rank =
            failure != nullptr && failure->code == errc::aborted && failure->cause;
        if (!is_of_rank) return done(reply, failure);
        error why = *failure->cause;
        done(reply, &why);
      });
  return answer;
}

}  // namespace troupe
