// Sends a request in two phases: all that can refuse it, then its place in the order.

#include "base/short_of_memory.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/local/local_device.hpp"
#include "device/mailbox/operands.hpp"
#include "request/description/text.hpp"
#include "wire/codec.hpp"

#include <troupe/lane/rest.hpp>

#include <fmt/format.h>

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

wire::end_mark mark_for(bool awaited, bool has_own_limit,
                        device_endpoint::next_in_lane next) noexcept {
  if (has_own_limit) return wire::end_mark::apart;
  if (!awaited) return wire::end_mark::shared;
  const bool aside = next == device_endpoint::next_in_lane::follows;
  return aside ? wire::end_mark::aside : wire::end_mark::own;
}

// Writes the bytes of a request, and adds its operands to the record.
result<std::size_t> encode(record& r, const request_type& type, const void* request,
                           std::span<std::byte> to, checked_operands& operands) {
  r.operands.clear();
  r.on_its_way.store(true, std::memory_order_seq_cst);
  return wire::encode(type, request, to, operands);
}

// Takes the times of this request. The next one in this slot comes after twice the mean at most: at
// random, because requests may come in a regular order.
void take_times(record& r, std::uint32_t sample) noexcept {
  if (sample == 0) return;
  r.sent_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  r.timed = record::timing::sampled;
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Fibonacci hashing
  const std::uint64_t drawn = static_cast<std::uint64_t>(r.sent_ns) * golden >> 32;
  r.until_sample = 1 + static_cast<std::uint32_t>(drawn % (2 * std::uint64_t{sample} - 1));
}

}  // namespace

void prepared_request::drop() noexcept { std::exchange(device_, nullptr)->abandon_slot(slot_); }

auto local_device::send(const request_type& type, const void* request,
                        const request_options& options, completion&& done, manner how)
    -> result<sent_request> {
  prepared_request made;
  if (auto ready = make_ready(made, type, request, options, how); !ready) [[unlikely]] {
    error why = std::move(ready).error();
    if (done) {
      error copy = why;
      done(nullptr, &copy);
    }
    return why;
  }
  const sent_request sent = publish_now(made, std::move(done));
  // Do not poll inside a continuation: it would run more continuations, without end.
  if (sent.ticket % requests_per_look == 0 && !detail::deferred_continuations::mine().is_busy()) {
    completions_->try_poll();
  }
  return sent;
}

result<void> local_device::make_ready(prepared_request& made, const request_type& type,
                                      const void* request, const request_options& options,
                                      manner how) {
  if (config_.tracer || options.run_limit || options.stop.stop_possible()) [[unlikely]] {
    note_rare(made, type, options, how);
  }
  auto filled = fill(made, type, request, options, how);
  if (filled) [[likely]]
    return filled;
  note_refusal(made, type, request, filled.error());
  error& why = filled.error();
  if (made.rare_ && made.rare_->trace) made.rare_->trace->refused(why);
  return filled;
}

void local_device::note_refusal(prepared_request& made, const request_type& type,
                                const void* request, error& why) {
  if (made.device_ != nullptr) made.drop();
  why.device = ordinal_;
  why.generation = supervisor_->generation();
  if (why.request.empty()) why.request = graph::request_text(type, request, 0);
  completions_->outcomes().note_refused(type, why.code);
}

void local_device::note_rare(prepared_request& made, const request_type& type,
                             const request_options& options, manner how) const {
  made.rare_ = std::make_unique<prepared_request::rare>();
  made.rare_->has_run_limit = options.run_limit.has_value();
  made.rare_->stop = options.stop;
  if (!config_.tracer) return;
  made.rare_->trace = std::make_unique<request_trace>(
      config_.tracer, type, ordinal_, supervisor_->generation(), how.lane, options.tag);
}

// Takes a slot, and writes the request and its record.
[[gnu::always_inline]] inline result<void> local_device::fill(prepared_request& made,
                                                              const request_type& type,
                                                              const void* request,
                                                              const request_options& options,
                                                              manner how) {
  if (auto why = not_taken(type, options)) [[unlikely]]
    return *std::move(why);
  deadline until;
  if (options.deadline) {
    until = detail::deadline_after(supervisor_->current_time(), *options.deadline);
  }
  std::optional<std::uint16_t> slot = requests_->take_slot();
  if (!slot) [[unlikely]] {
    // Validate first: an invalid request must not wait for a slot.
    if (auto valid = type.validate(request); !valid) return valid;
    const auto take = [&] { return (slot = requests_->take_slot()).has_value(); };
    if (auto taken = await_capacity(until, how.full, take); !taken) return taken;
  }
  made.device_ = this;
  made.slot_ = *slot;
  made.next_ = how.next;

  record& r = completions_->at(*slot);
  wire::slot_header& header = requests_->header(*slot);
  r.renew(type, how.lane, options.tag);
  if (--r.until_sample == 0) [[unlikely]]
    take_times(r, metrics_.sample);
  r.deadline_ns = until ? std::chrono::nanoseconds(until->time_since_epoch()).count() : 0;
  r.run_limit_ns = options.run_limit.value_or(config_.run_limit).count();
  header.operation = type.id;
  header.deadline_ns = r.deadline_ns;
  header.revoked.store(0, std::memory_order_relaxed);
  header.held.store(how.as == sent_as::open ? wire::hold::none : wire::hold::until_opened,
                    std::memory_order_relaxed);
  if (auto written = write(made, type, request, until, how.full); !written) return written;
  // After the operands are checked: their memory is mapped by this count of changes.
  header.memory_version = supervisor_->memory_version();
  header.sequence = 0;
  if (!options.quarantine) r.quarantine = record::trial::is_exempt;
  if (completions_->quarantine().counts()) [[unlikely]] {
    return admit(*slot);
  }
  return {};
}

// Returns the reason if the device does not take such a request, or none at all.
[[gnu::always_inline]] inline std::optional<error> local_device::not_taken(
    const request_type& type, const request_options& options) const {
  if (supervisor_->gone()) [[unlikely]]
    return supervisor_->stop_reason();
  if (completions_->is_copy()) [[unlikely]]
    return reactor::copy_error();
  if ((!config_.fault_injection && type.name.starts_with("fault.")) || !config_.libraries.empty())
      [[unlikely]] {
    if (auto why = not_enabled(type)) return why;
  }
  if (options.run_limit && *options.run_limit <= std::chrono::nanoseconds::zero()) [[unlikely]] {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("request_options::run_limit must be positive; it is {} ns",
                                        options.run_limit->count())};
  }
  return std::nullopt;
}

// Apart, so that it is no part of the way of a request.
[[gnu::noinline]] std::optional<error> local_device::not_enabled(const request_type& type) const {
  const std::string_view library = type.library();
  if (!config_.fault_injection && library == "fault") {
    return error{.code = errc::unsupported,
                 .message = "the device was made without fault_injection"};
  }
  constexpr std::string_view always[] = {"fault", "graph", "lane"};
  if (config_.libraries.empty() || std::ranges::find(always, library) != std::end(always) ||
      std::ranges::find(config_.libraries, library) != config_.libraries.end()) {
    return std::nullopt;
  }
  return error{.code = errc::library_missing,
               .message = fmt::format("library {} is not enabled on this device", library)};
}

std::optional<error> local_device::refusal_of(const request_type& type) const {
  if (supervisor_->gone()) return supervisor_->stop_reason();
  return completions_->is_copy() ? reactor::copy_error() : not_enabled(type);
}

// Writes the bytes of a request, checks it, and keeps its operands.
[[gnu::always_inline]] inline result<void> local_device::write(prepared_request& made,
                                                               const request_type& type,
                                                               const void* request, deadline until,
                                                               if_full full) {
  record& r = completions_->at(made.slot_);
  // Read this before checking the operands: later taints are checked again.
  r.taint_changes = completions_->taints().changes();
  outgoing_operands operands(type, *device_memory_, *host_memory_, r.operands);
  const std::span<std::byte> payload = requests_->payload(made.slot_);
  auto bytes = encode(r, type, request, payload, operands);
  if (!bytes && bytes.error().code == errc::tainted_buffer) [[unlikely]]
    bytes = encode_after_others(r, type, request, payload, operands);
  const bool fits = bytes && *bytes <= payload.size();
  if (auto valid = check(type, request, payload.first(fits ? *bytes : 0)); !valid) return valid;
  if (!bytes) return std::move(bytes).error();
  if (!fits) [[unlikely]] {
    // A request that waits for space holds up no other one: its operands are checked again below.
    r.on_its_way.store(false, std::memory_order_release);
    if (auto taken = take_heap(made.slot_, *bytes, until, full); !taken) return taken;
    auto again = encode(r, type, request, requests_->heap(*r.heap), operands);
    if (!again && again.error().code == errc::tainted_buffer) {
      again = encode_after_others(r, type, request, requests_->heap(*r.heap), operands);
    }
    if (!again) return std::move(again).error();
  }
  requests_->header(made.slot_).payload_bytes = static_cast<std::uint32_t>(*bytes);
  made.is_watched_ = operands.watched();
  return {};
}

// A request reads undefined content, which an earlier request of this very thread may overwrite,
// and not be taken up yet.
result<std::size_t> local_device::encode_after_others(record& r, const request_type& type,
                                                      const void* request, std::span<std::byte> to,
                                                      checked_operands& operands) {
  r.on_its_way.store(false, std::memory_order_release);
  completions_->catch_up(role(*completions_));
  return encode(r, type, request, to, operands);
}

// `bytes` is the encoded request, whether it is in the mailbox already or not.
[[gnu::always_inline]] inline result<void> local_device::check(const request_type& type,
                                                               const void* request,
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

// Once requests are counted for the quarantine.
result<void> local_device::admit(std::uint16_t slot) {
  record& r = completions_->at(slot);
  completions_->quarantine().recognise(r, requests_->digest(slot));
  return completions_->quarantine().admit(r, supervisor_->current_time());
}

void local_device::abandon_slot(std::uint16_t slot) noexcept {
  record& r = completions_->at(slot);
  r.on_its_way.store(false, std::memory_order_release);
  if (r.quarantine == record::trial::decides) completions_->quarantine().end_trial(r, false);
  r.operands.clear();
  if (r.heap) requests_->give_back_heap(*std::exchange(r.heap, std::nullopt));
  requests_->give_back_slot(slot);
}

device_endpoint::sent_request local_device::publish(prepared_request&& made, completion&& done,
                                                    bool awaited) noexcept {
  // Not shared: the mark would be behind a later part, which may wait for this one's end to be
  // seen.
  return publish_now(made, std::move(done), awaited ? wire::end_mark::own : wire::end_mark::aside);
}

[[gnu::always_inline]] inline device_endpoint::sent_request local_device::publish_now(
    prepared_request& made, completion&& done, std::optional<wire::end_mark> mark) noexcept {
  const std::uint16_t slot = made.slot_;
  record& r = completions_->at(slot);
  wire::slot_header& header = requests_->header(slot);
  const std::unique_ptr<prepared_request::rare> rare = std::move(made.rare_);
  if (rare && rare->trace) [[unlikely]] {
    done = request_trace::sent(std::move(rare->trace), *completions_, std::move(done));
    if (r.timed == record::timing::none) r.timed = record::timing::traced;
  }
  const wire::end_mark how =
      mark ? *mark : mark_for(static_cast<bool>(done), rare && rare->has_run_limit, made.next_);
  header.mark = r.timed == record::timing::none ? how : wire::with_stamps(how);
  r.done = std::move(done);
  if (completions_->quarantine().counts()) [[unlikely]]
    completions_->quarantine().note_writes(r);
  if (made.is_watched_) [[unlikely]]
    insist_on([&] { completions_->taints().announce(slot); });
  const bool is_first =
      supervisor_->next_on_trial() && !is_mapping(*r.type) && supervisor_->take_trial();
  const bool alone = r.quarantine == record::trial::decides || is_first;
  header.alone.store(alone ? 1 : 0, std::memory_order_relaxed);
  const std::int64_t deadline_ns = r.deadline_ns;
  const std::chrono::nanoseconds run_limit(r.run_limit_ns);
  made.device_ = nullptr;
  if (notes_) [[unlikely]]
    begin_note(slot);

  // From here on the record belongs to the holder of the reactor's role.
  const sent_request sent{.slot = slot, .ticket = requests_->publish(slot, r.lane, &r.on_its_way)};
  if (notes_ && notes_->sent(slot, sent.ticket)) [[unlikely]]
    make_checkpoint();
  if (deadline_ns != 0) supervisor_->schedule_check(deadline_ns);
  if (rare && rare->has_run_limit) [[unlikely]]
    supervisor_->note_run_limit(run_limit);
  supervisor_->note_busy();
  if (rare && rare->stop.stop_possible()) [[unlikely]]
    insist_on([&] { cancel_on_stop(sent, rare->stop); });
  // The device may have ended since the check above. A request published after its end has no
  // owner, so fail it here. Two fences order the two: the one that wakes the worker, and one in the
  // supervisor.
  if (supervisor_->gone()) [[unlikely]]
    insist_on([&] { supervisor_->fail_latecomers(); });
  return sent;
}

void local_device::open(std::uint16_t slot) noexcept {
  if (notes_) notes_->opened(completions_->at(slot), slot);
  requests_->open(slot);
}

void local_device::note_unmapped(std::uint64_t ticket, const any_tensor& t, const std::byte* at,
                                 access role) noexcept {
  if (notes_) notes_->unmapped(ticket, t, at, role);
}

// Apart, so that it is no part of the way of other requests.
[[gnu::noinline]] void local_device::begin_note(std::uint16_t slot) noexcept {
  record& r = completions_->at(slot);
  r.note();
  const bool is_open =
      requests_->header(slot).held.load(std::memory_order_relaxed) == wire::hold::none;
  notes_->begin(r, slot, requests_->sent_bytes(slot), is_open, r.lane == wire::world_lane);
}

// In a lane of its own. It is closed until it is marked to run alone.
result<renewal::rest> local_device::send_rest() {
  auto memory = allocate(memory_space::host, sizeof(std::uint32_t));
  if (!memory) return std::move(memory).error();
  const auto until = any_tensor::owned(*std::move(memory), dtype::u32, {1});
  *until.data<std::uint32_t>() = 0;
  const auto lane = take_mapping_lane();
  if (!lane) return error{.code = errc::mailbox_full, .message = "renew: no lane is free"};
  const lane::rest request{.until = until};
  auto sent = send(request_type_of<lane::rest>(), &request,
                   {.run_limit = std::chrono::nanoseconds::max(), .quarantine = false},
                   [this, lane](const std::byte*, const error*) { leave_mapping_lane(*lane); },
                   {.lane = *lane, .full = if_full::refuse, .as = sent_as::closed});
  if (!sent) return std::move(sent).error();
  requests_->header(sent->slot).alone.store(1, std::memory_order_relaxed);
  open(sent->slot);
  return renewal::rest{.slot = sent->slot, .ticket = sent->ticket, .until = until};
}

void local_device::cancel_on_stop(sent_request sent, const std::stop_token& stop) {
  supervisor_->execute([this, sent, stop] {
    // On the device thread and with the role, the record may be read again.
    const role held(*completions_);
    completions_->poll(held);
    record& r = completions_->at(sent.slot);
    if (r.now != record::stage::in_flight || r.ticket != sent.ticket) return;
    r.stop = std::make_unique<stop_callback>(stop, [this, sent] { (void)cancel(sent); });
  });
}

}  // namespace troupe
