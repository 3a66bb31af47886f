// A device as one of several: the memory of its peers, and its parts.
#include "device/local/local_device.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

result<void> local_device::map_peer(const std::shared_ptr<memory_pool>& peer) {
  const std::lock_guard lock(peers_mutex_);
  if (peer == device_memory_ || std::ranges::find(peers_, peer) != peers_.end()) return {};
  const wire::pool_number pool = requests_->add_peer(peer->base(), peer->bytes());
  if (pool == 0) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("device {} has had {} peers, the most that it can have",
                                        ordinal_, wire::max_peers),
                 .device = ordinal_};
  }
  peers_.push_back(peer);
  supervisor_->map_peer(pool, peer->bytes(), peer->memory());
  return {};
}

wire::pool_number local_device::number_of(const memory_pool& peer) const {
  const std::lock_guard lock(peers_mutex_);
  const auto found = std::ranges::find(peers_, &peer, &std::shared_ptr<memory_pool>::get);
  if (found == peers_.end()) return 0;
  return static_cast<wire::pool_number>(wire::first_peer_pool + (found - peers_.begin()));
}

local_device::progress local_device::progress_of(sent_request one) {
  const role held(*completions_);
  completions_->poll(held);
  const record& r = completions_->at(one.slot);
  if (r.now == record::stage::unseen || r.ticket != one.ticket) return progress::has_ended;
  return completions_->started(held, r.lane) < r.place ? progress::waits : progress::runs;
}

}  // namespace troupe
