// Sends a request: validation, slot, encoding, ticket.

#include "base/spin_wait.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/submission/device_core.hpp"
#include "device/submission/operands.hpp"
#include "device/submission/request_trace.hpp"
#include "request/description/text.hpp"
#include "wire/codec.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

namespace troupe {
namespace {

using stop_callback = std::stop_callback<std::function<void()>>;

// Once in this many requests a sender polls for completions itself, so that a stream of requests
// without waiters frees its slots without another thread.
constexpr std::uint64_t requests_per_look = 32;

wire::end_mark mark_for(bool awaited, bool has_own_limit, device_core::next_in_lane next) noexcept {
  if (has_own_limit) return wire::end_mark::apart;
  if (!awaited) return wire::end_mark::shared;
  const bool aside = next == device_core::next_in_lane::follows;
  return aside ? wire::end_mark::aside : wire::end_mark::own;
}

}  // namespace

/// Gives the slot back unless it is filled, also if a request's own description or check throws.
class device_core::unsent_slot {
 public:
  unsent_slot(device_core& core, std::uint16_t slot) noexcept : core_(&core), slot_(slot) {}
  unsent_slot(const unsent_slot&) = delete;
  unsent_slot& operator=(const unsent_slot&) = delete;
  ~unsent_slot() { give_back(); }

  void give_back() noexcept {
    if (core_ != nullptr) std::exchange(core_, nullptr)->abandon_slot(slot_);
  }
  void is_filled() noexcept { core_ = nullptr; }

 private:
  device_core* core_;
  std::uint16_t slot_;
};

auto device_core::send_held(const request_type& type, const void* request,
                            const request_options& options, std::uint8_t lane, completion&& done,
                            if_full full, next_in_lane next, wire::hold held)
    -> result<sent_request> {
  std::optional<request_trace> trace;
  if (config_.tracer) [[unlikely]]
    trace.emplace(config_.tracer, type, ordinal_, supervisor_->generation(), lane);
  const auto refuse = [&](error why) -> result<sent_request> {
    why.device = ordinal_;
    why.generation = supervisor_->generation();
    if (why.request.empty()) why.request = print(type, request);
    refused_.fetch_add(1, std::memory_order_relaxed);
    if (trace) trace->refused(why);
    if (done) {
      error copy = why;
      done(nullptr, &copy);
    }
    return why;
  };
  if (supervisor_->gone()) [[unlikely]]
    return refuse(supervisor_->stop_reason());
  if (completions_->is_copy()) [[unlikely]]
    return refuse(reactor::copy_error());
  if (auto why = not_enabled(type)) [[unlikely]]
    return refuse(std::move(*why));
  if (options.run_limit && *options.run_limit <= std::chrono::nanoseconds::zero()) [[unlikely]] {
    return refuse(
        {.code = errc::invalid_argument,
         .message = fmt::format("request_options::run_limit must be positive; it is {} ns",
                                options.run_limit->count())});
  }
  deadline until;
  if (options.deadline) {
    until = detail::deadline_after(supervisor_->current_time(), *options.deadline);
  }
  std::optional<std::uint16_t> taken = requests_->take_slot();
  if (!taken) [[unlikely]] {
    // Validate first: an invalid request must not wait for a slot.
    if (auto valid = type.validate(request); !valid) return refuse(std::move(valid).error());
    auto awaited = await_capacity(until, [this] { return requests_->take_slot(); }, full);
    if (!awaited) return refuse(std::move(awaited).error());
    taken = *awaited;
  }
  const std::uint16_t slot = *taken;
  unsent_slot unsent(*this, slot);
  completions_->at(slot).is_exempt = !options.quarantine;
  if (auto filled = fill(slot, type, request, until, full, held); !filled) {
    unsent.give_back();
    return refuse(std::move(filled).error());
  }
  unsent.is_filled();

  record& r = completions_->at(slot);
  r.type = &type;
  r.lane = lane;
  r.answered = false;
  r.started = false;
  r.called = false;
  r.interrupted = false;
  r.withdrawn = false;
  r.kills = 0;
  r.outside_kills = 0;
  if (trace) [[unlikely]]
    done = std::move(*trace).sent(*completions_, std::move(done));
  requests_->header(slot).mark =
      mark_for(static_cast<bool>(done), options.run_limit.has_value(), next);
  r.done = std::move(done);
  r.deadline_ns = until ? std::chrono::nanoseconds(until->time_since_epoch()).count() : 0;
  requests_->header(slot).deadline_ns = r.deadline_ns;
  r.run_limit_ns = options.run_limit.value_or(config_.run_limit).count();
  const std::int64_t deadline_ns = r.deadline_ns;
  const bool cancellable = options.stop.stop_possible();

  // From here on the record belongs to the holder of the reactor's role.
  const std::uint64_t ticket = requests_->publish(slot, lane, &r.on_its_way);
  if (deadline_ns != 0) supervisor_->schedule_check(deadline_ns);
  if (options.run_limit) supervisor_->note_run_limit(*options.run_limit);
  supervisor_->note_busy();
  if (cancellable) {
    supervisor_->execute([this, slot, ticket, stop = options.stop] {
      // On the device thread and with the role, the record may be read again.
      completions_->take_role();
      completions_->poll();
      record& sent = completions_->at(slot);
      if (sent.in_flight && sent.ticket == ticket && !sent.answered) {
        sent.stop = std::make_unique<stop_callback>(
            stop, [this, slot, ticket] { (void)cancel({slot, ticket}); });
      }
      completions_->leave_role();
    });
  }
  // Do not poll inside a continuation: it would run more continuations, without end.
  if (ticket % requests_per_look == 0 && !detail::deferred_continuations::mine().is_busy()) {
    completions_->try_poll();
  }
  // The device may have ended since the check above. A request published after its end has no
  // owner, so fail it here. Two fences order the two: the one that wakes the worker, and one in the
  // supervisor.
  if (supervisor_->gone()) [[unlikely]]
    supervisor_->fail_latecomers();
  return sent_request{slot, ticket};
}

// Returns the reason if the device does not take requests of this type.
inline std::optional<error> device_core::not_enabled(const request_type& type) const {
  if (!config_.fault_injection && type.name.starts_with("fault.")) [[unlikely]] {
    return error{.code = errc::unsupported,
                 .message = "the device was made without fault_injection"};
  }
  if (!config_.libraries.empty() && type.library() != "lane" && type.library() != "fault" &&
      std::ranges::find(config_.libraries, type.library()) == config_.libraries.end()) {
    return error{
        .code = errc::library_missing,
        .message = fmt::format("library {} is not enabled on this device", type.library())};
  }
  return std::nullopt;
}

// Waits until `take` returns a value: a slot, or heap space for a long request.
template <class Take>
auto device_core::await_capacity(deadline until, Take&& take, if_full full)
    -> result<typename decltype(take())::value_type> {
  detail::spin_wait spin(completions_->spins());
  for (bool given_way = false;;) {
    completions_->try_poll();
    // Check this before taking the slots that the device's end frees.
    if (supervisor_->gone()) return supervisor_->stop_reason();
    if (auto taken = take()) return *taken;
    // Actors stop before devices, so an actor may still be waiting here at shutdown.
    if (guards_ && guards_->home_is_forced()) {
      return error{.code = errc::device_stopped, .message = "its system shuts down"};
    }
    if (config_.full == when_full::reject && full != if_full::wait) {
      // A sender that retries in a loop may occupy the very processor that the worker needs.
      if (!std::exchange(given_way, true)) {
        ::sched_yield();
        continue;
      }
      return error{.code = errc::mailbox_full,
                   .message = fmt::format("the mailbox is full: {} requests are waiting or running "
                                          "(device_config::mailbox_capacity)",
                                          requests_->capacity())};
    }
    if (until && supervisor_->current_time() >= *until) {
      return error{
          .code = errc::deadline_exceeded,
          .message = "the deadline passed while the request waited for space in the mailbox"};
    }
    if (spin.step()) continue;
    detail::deferred_continuations::mine().pause_until(std::chrono::steady_clock::now() +
                                                       std::chrono::microseconds(50));
  }
}

result<void> device_core::fill(std::uint16_t slot, const request_type& type, const void* request,
                               deadline until, if_full full, wire::hold held) {
  record& r = completions_->at(slot);
  wire::slot_header& header = requests_->header(slot);
  // Read this before checking the operands: later taints are checked again.
  r.taint_changes = completions_->taints().changes();
  r.watched = false;
  outgoing_operands operands(*device_memory_, *host_memory_, r.operands);
  const auto encode = [&](std::span<std::byte> to) {
    r.operands.clear();
    r.on_its_way.store(true, std::memory_order_seq_cst);
    return wire::encode(type, request, to, operands);
  };
  const auto encode_to = [&](std::span<std::byte> to) {
    auto bytes = encode(to);
    if (bytes || bytes.error().code != errc::tainted_buffer) return bytes;
    // An earlier request of this very thread may overwrite it, and not be taken up yet.
    r.on_its_way.store(false, std::memory_order_release);
    completions_->catch_up();
    return encode(to);
  };
  auto bytes = encode_to(requests_->payload(slot));
  const bool fits = bytes && *bytes <= wire::slot_payload_bytes;
  const std::span<const std::byte> sent = requests_->payload(slot).first(fits ? *bytes : 0);
  if (auto valid = check(type, request, sent); !valid) return valid;
  if (!bytes) return std::move(bytes).error();
  if (*bytes > wire::slot_payload_bytes) {
    if (*bytes > requests_->heap_bytes()) {
      return error{.code = errc::size_overflow,
                   .message = fmt::format(
                       "the request needs {} bytes, but device_config::mailbox_bytes is {}", *bytes,
                       requests_->heap_bytes())};
    }
    // A request that waits for space holds up no other one: its operands are checked again below.
    r.on_its_way.store(false, std::memory_order_release);
    r.heap = requests_->take_heap(*bytes);
    if (!r.heap) {
      auto piece = await_capacity(until, [&] { return requests_->take_heap(*bytes); }, full);
      if (!piece) {
        error why = std::move(piece).error();
        if (why.code == errc::mailbox_full) {
          why.message = fmt::format(
              "the mailbox is full: the request needs {} bytes, and mailbox_bytes ({}) is in use",
              *bytes, requests_->heap_bytes());
        }
        return why;
      }
      r.heap = *piece;
    }
    header.spill_offset = r.heap->offset;
    auto again = encode_to(requests_->heap(*r.heap));
    if (!again) return std::move(again).error();
  }
  header.operation = type.id;
  header.memory_version = supervisor_->memory_version();
  header.sequence = 0;
  header.payload_bytes = static_cast<std::uint32_t>(*bytes);
  header.revoked.store(0, std::memory_order_relaxed);
  header.held.store(held, std::memory_order_relaxed);
  quarantine_book& quarantine = completions_->quarantine();
  r.on_trial = false;
  r.identity = 0;
  if (quarantine.counts()) [[unlikely]] {
    quarantine.recognise(r, requests_->digest(slot));
    if (auto admitted = quarantine.admit(r, supervisor_->current_time()); !admitted) {
      return admitted;
    }
    quarantine.note_writes(r);
  }
  if (operands.watched()) [[unlikely]]
    completions_->taints().announce(slot);
  const bool is_first =
      supervisor_->next_on_trial() && !is_mapping(type) && supervisor_->take_trial();
  const bool alone = r.on_trial || is_first;
  header.alone.store(alone ? 1 : 0, std::memory_order_relaxed);
  return {};
}

// `bytes` is the encoded request, whether it is in the mailbox already or not.
result<void> device_core::check(const request_type& type, const void* request,
                                std::span<const std::byte> bytes) {
  // Below this size, checking is as fast as looking it up.
  constexpr std::size_t least_bytes = 64;
  if (bytes.size() < least_bytes) return type.validate(request);
  const std::uint64_t key = valid_requests::key(type, bytes);
  if (valid_.contains(key)) return {};
  auto valid = type.validate(request);
  if (valid) valid_.add(key);
  return valid;
}

void device_core::abandon_slot(std::uint16_t slot) noexcept {
  record& r = completions_->at(slot);
  r.on_its_way.store(false, std::memory_order_release);
  r.operands.clear();
  if (r.heap) requests_->give_back_heap(*std::exchange(r.heap, std::nullopt));
  requests_->give_back_slot(slot);
}

}  // namespace troupe
