// A device as one of several: the memory of its peers, and its parts.
#include "device/local/local_device.hpp"
#include "device/mailbox/operands.hpp"
#include "request/description/table.hpp"
#include "wire/codec.hpp"

#include <troupe/collective/reduction.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

result<void> local_device::map_peer(const std::shared_ptr<memory_pool>& pool, bool is_direct) {
  const std::lock_guard meeting(meeting_mutex_);
  if (pool == device_memory_ || number_of(*pool) != 0) return {};
  const wire::pool_number number = requests_->add_peer(pool->base(), pool->bytes());
  if (number == 0) {
    return error{.code = errc::unsupported,
                 .message = fmt::format("device {} has had {} peers, the most that it can have",
                                        ordinal_, wire::max_peers),
                 .device = ordinal_};
  }
  if (!is_direct) {
    // It has a number only, and is never mapped.
  } else if (pool->on_device()) {
    // Before any slab is mapped, and without the lock that the watcher takes.
    pool->watch_slabs(
        this, [this, of = pool.get()](const slab_place& removed) { forget_slab(*of, removed); });
  } else {
    supervisor_->map_peer(number, pool->bytes(), pool->memory());
  }
  const std::lock_guard lock(peers_mutex_);
  peers_.push_back({.pool = pool, .is_direct = is_direct, .writable = {}});
  return {};
}

void local_device::reach_words(const any_tensor& of) {
  const auto& owner = static_cast<const memory_pool&>(*of.buffer()->owner);
  if (owner.on_device() && &owner != device_memory_.get()) {
    reach_slab(*of.buffer().get(), number_of(owner), true);
  }
}

void local_device::reach_slab(const detail::buffer& of, wire::pool_number pool, bool writable) {
  // The buffer is in use, so its slab stays. Its pool is asked without the lock, which it takes
  // itself when it calls the watcher.
  const auto place = static_cast<const memory_pool&>(*of.owner).slab_of(of);
  if (!place) return;
  const std::lock_guard lock(peers_mutex_);
  if (!peers_[pool - wire::first_peer_pool].is_direct) return;
  auto& mapped = peers_[pool - wire::first_peer_pool].writable;
  const auto [known, is_new] = mapped.try_emplace(place->offset, writable);
  if (!is_new) {
    if (known->second || !writable) return;
    known->second = true;
    supervisor_->unmap_peer_slab(pool, *place);
  }
  supervisor_->map_peer_slab(pool, *place, writable);
}

// With the lock of that pool.
void local_device::forget_slab(const memory_pool& peer, const slab_place& removed) {
  const std::lock_guard lock(peers_mutex_);
  const auto found =
      std::ranges::find_if(peers_, [&](const auto& p) { return p.pool.get() == &peer; });
  if (found == peers_.end() || found->writable.erase(removed.offset) == 0) return;
  const auto pool =
      static_cast<wire::pool_number>(wire::first_peer_pool + (found - peers_.begin()));
  supervisor_->unmap_peer_slab(pool, removed);
}

result<prepared_request> local_device::prepare_part(const request_type& type, const void* request,
                                                    std::uint64_t number) {
  prepared_request made;
  auto written = write_part(made, type, request, number);
  if (written) return made;
  note_refusal(made, type, request, written.error());
  return std::move(written).error();
}

result<void> local_device::write_part(prepared_request& made, const request_type& type,
                                      const void* request, std::uint64_t number) {
  if (supervisor_->gone()) return supervisor_->stop_reason();
  if (completions_->is_copy()) return reactor::copy_error();
  std::optional<std::uint16_t> slot;
  const auto take_slot = [&] { return (slot = requests_->take_slot()).has_value(); };
  if (!take_slot()) {
    if (auto taken = await_capacity({}, if_full::refuse, take_slot); !taken) return taken;
  }
  made.device_ = this;
  made.slot_ = *slot;
  record& r = completions_->at(*slot);
  r.renew(type, wire::world_lane);
  r.deadline_ns = 0;
  r.run_limit_ns = std::chrono::nanoseconds::max().count();
  r.quarantine = record::trial::is_exempt;
  r.taint_changes = completions_->taints().changes();  // before the operands are checked

  // In two steps, ranks also read the output of others.
  const auto& part = value_at<world_part>(request, *type.fields->part_at);
  const bool reads_outputs = part.ranks() > 2 && !part.through_host &&
                             type.id == request_type_of<collective::all_reduce>().id;
  part_operands operands(type, *device_memory_, *host_memory_, r.operands, *this, reads_outputs);
  const auto encode = [&](std::span<std::byte> to) {
    r.operands.clear();
    r.on_its_way.store(true, std::memory_order_seq_cst);
    return wire::encode(type, request, to, operands);
  };
  std::span<std::byte> payload = requests_->payload(*slot);
  auto bytes = encode(payload);
  if (!bytes && bytes.error().code == errc::tainted_buffer) {
    // An earlier request of this thread may overwrite it, and not be taken up yet.
    r.on_its_way.store(false, std::memory_order_release);
    completions_->catch_up(role(*completions_));
    bytes = encode(payload);
  }
  if (!bytes) return std::move(bytes).error();
  if (*bytes > payload.size()) {
    r.on_its_way.store(false, std::memory_order_release);
    if (auto taken = take_heap(*slot, *bytes, {}, if_full::refuse); !taken) return taken;
    bytes = encode(requests_->heap(*r.heap));
    if (!bytes) return std::move(bytes).error();
  }
  made.is_watched_ = operands.watched();

  wire::slot_header& header = requests_->header(*slot);
  header.operation = type.id;
  header.deadline_ns = 0;
  header.revoked.store(0, std::memory_order_relaxed);
  header.held.store(wire::hold::none, std::memory_order_relaxed);
  header.payload_bytes = static_cast<std::uint32_t>(*bytes);
  header.memory_version = supervisor_->last_memory_change();  // after the operands are checked
  header.sequence = number;
  return {};
}

wire::pool_number local_device::number_of(const memory_pool& peer) const {
  const std::lock_guard lock(peers_mutex_);
  const auto found =
      std::ranges::find_if(peers_, [&](const auto& p) { return p.pool.get() == &peer; });
  if (found == peers_.end()) return 0;
  return static_cast<wire::pool_number>(wire::first_peer_pool + (found - peers_.begin()));
}

world_operation::progress local_device::progress_of(sent_request one) {
  using progress = world_operation::progress;
  const role held(*completions_);
  completions_->poll(held);
  const record& r = completions_->at(one.slot);
  if (r.now == record::stage::unseen || r.ticket != one.ticket) return progress::has_ended;
  return completions_->started(held, r.lane) < r.place ? progress::waits : progress::runs;
}

void local_device::end_running(sent_request one, error why) {
  supervisor_->end_running(one.slot, one.ticket, std::move(why));
}

void local_device::watch_at(std::chrono::steady_clock::time_point at) noexcept {
  supervisor_->schedule_check(std::chrono::nanoseconds(at.time_since_epoch()).count());
}

}  // namespace troupe
