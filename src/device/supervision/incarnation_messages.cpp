// The messages to and from a worker process.
#include "device/mailbox/mailbox.hpp"
#include "device/supervision/incarnation.hpp"
#include "memory/memory_pool.hpp"
#include "os/message_socket.hpp"
#include "wire/reply.hpp"
#include "worker/process/engine.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

// The most libraries that a worker may report as missing; more than exist.
constexpr std::size_t most_missing = 64;
// The most messages that wait for space; more than a device has pieces of memory.
constexpr std::size_t most_unsent = 65'536;

error out_of_turn(wire::control kind) {
  return {.code = errc::protocol_violation,
          .message = fmt::format("control message {} from a worker, out of turn",
                                 static_cast<std::uint32_t>(kind))};
}

}  // namespace

// A worker may send each kind of message once, or in answer to one of ours, so it cannot keep this
// loop busy: the first message too many ends it.
void incarnation::on_control() {
  on_news();  // which process it is comes before its messages
  if (auto sent = send_unsent(); !sent) return fail(std::move(sent).error());
  for (;;) {
    wire::any_message message;
    auto received = os::receive_message(control_, std::as_writable_bytes(std::span(&message, 1)),
                                        os::wait_mode::non_blocking);
    if (!received && received.error().vendor_code == EAGAIN) return;
    // It closed before reading everything; its earlier messages come next.
    if (!received && received.error().vendor_code == ECONNRESET) continue;
    if (!received && received.error().code == errc::protocol_violation) {
      return fail(std::move(received).error());
    }
    if (!received || received->bytes == 0) {
      // The socket closes a moment before the process exits.
      control_.reset();
      return;
    }
    if (auto whole = wire::check_whole(message, received->bytes); !whole) {
      return fail(std::move(whole).error());
    }
    if (auto handled = handle(message); !handled) return fail(std::move(handled).error());
  }
}

// An error ends the worker.
result<void> incarnation::handle(const wire::any_message& message) {
  switch (message.kind) {
    case wire::control::hello:
      return on_hello(message.hello);
    case wire::control::ready:
      // The number comes back, so that no worker is ready that was not asked to begin.
      if (!configured_ || stage_ != stage::starting || message.plain.id != number_) break;
      stage_ = stage::ready;
      news_.reset();
      note_debt(true);
      return {};
    case wire::control::warm:
      if (!configured_ || std::exchange(warm_, true)) break;
      return {};
    case wire::control::pong:
      if (message.plain.id <= pongs_ || message.plain.id > pings_sent_) break;
      pongs_ = message.plain.id;
      return {};
    case wire::control::protect_done:
      return on_protect_done(message.plain);
    case wire::control::missing:
      return on_missing(message.missing);
    case wire::control::failed: {
      queues_failed_ = message.failed.of_queues != 0;
      auto why = wire::read_failure(message.failed.why);
      return why ? std::move(*why)
                 : error{.code = errc::protocol_violation,
                         .message = "a worker failed without saying why"};
    }
    case wire::control::configure:
    case wire::control::begin:
    case wire::control::map:
    case wire::control::unmap:
    case wire::control::share:
    case wire::control::protect:
    case wire::control::ping:
    case wire::control::serves:
      break;
  }
  return out_of_turn(message.kind);
}

result<void> incarnation::on_hello(const wire::hello_message& hello) {
  if (configured_) return out_of_turn(hello.kind);
  const std::string_view version(hello.library_version,
                                 ::strnlen(hello.library_version, sizeof(hello.library_version)));
  if (hello.magic_number != wire::magic || hello.protocol != wire::protocol_version ||
      version != TROUPE_VERSION) {
    return error{
        .code = errc::version_mismatch,
        .message = fmt::format(
            "worker {} is version {} with protocol {}, the library {} with protocol {}",
            plan_.executable, version, hello.protocol, TROUPE_VERSION, wire::protocol_version)};
  }
  if (auto sent = configure(); !sent) return sent;
  configured_ = true;
  if (auto given = give_memory(); !given) return given;
  for (const frozen_range& range : std::exchange(frozen_, {}))
    protect(range, true);
  return send(wire::plain_message{.kind = wire::control::begin, .id = number_});
}

result<void> incarnation::configure() {
  wire::configure_message message;
  message.lane_threads = static_cast<std::uint32_t>(lane_threads());
  message.worker = number_;
  message.ordinal = plan_.ordinal;
  message.mailbox_bytes = plan_.requests->total_bytes();
  const memory_pool* pools[] = {plan_.device_memory, plan_.host_memory};
  for (std::size_t i = 0; i < std::size(pools); ++i) {
    message.ranges[i] = {reinterpret_cast<std::uint64_t>(pools[i]->base()), pools[i]->bytes()};
  }
  message.fault_injection = plan_.config->fault_injection ? 1 : 0;
  message.warm_first = plan_.warm_first ? 1 : 0;
  message.methods = plan_.config->methods;
  const std::string libraries = enabled_libraries();
  if (plan_.plugin.size() >= sizeof(message.plugin) ||
      libraries.size() >= sizeof(message.libraries) ||
      !wire::list_paths(plan_.config->plugins, message.plugins)) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format(
                     "the configuration must fit a message to the worker: "
                     "device_config::backend_path below {} bytes, it is {}; "
                     "device_config::libraries below {} bytes, they are {}; the paths in "
                     "device_config::plugins at most {} bytes, there are {} paths",
                     sizeof(message.plugin), plan_.plugin.size(), sizeof(message.libraries),
                     libraries.size(), sizeof(message.plugins), plan_.config->plugins.size())};
  }
  plan_.plugin.copy(message.plugin, sizeof(message.plugin) - 1);
  libraries.copy(message.libraries, sizeof(message.libraries) - 1);
  plan_.device.copy(message.device, sizeof(message.device) - 1);
  const int descriptors[wire::configure_descriptors] = {
      plan_.requests->memory().get(), plan_.requests->bell_memory().get(), segment_memory_.get(),
      wakes_.get(), plan_.blobs->get()};
  return send(message, descriptors);
}

result<void> incarnation::give_memory() {
  for (const memory_piece& piece : plan_.picture->pieces) {
    change_memory({wire::control::map, piece, plan_.picture->version});
  }
  change_memory({wire::control::share,
                 {.pool = wire::host_pool, .bytes = plan_.picture->host_reach},
                 plan_.picture->version});
  return stage_ == stage::failed ? result<void>(*failure_) : result<void>();
}

result<void> incarnation::on_missing(const wire::missing_message& message) {
  if (!configured_ || stage_ != stage::starting || missing_.size() == most_missing) {
    return out_of_turn(message.kind);
  }
  missing_.push_back(
      {std::string(message.library, ::strnlen(message.library, sizeof(message.library))),
       std::string(message.why, ::strnlen(message.why, sizeof(message.why)))});
  return {};
}

// In the order of the calls.
result<void> incarnation::on_protect_done(const wire::plain_message& done) {
  if (protects_acknowledged_ == protects_sent_ || done.id != protects_acknowledged_ + 1) {
    return out_of_turn(done.kind);
  }
  ++protects_acknowledged_;
  note_debt(true);
  if (done.code != 0) {
    refused_protects_.push_back(
        {done.id,
         {.code = errc::out_of_memory,
          .message =
              "a worker's system cannot change the access rights of another part of its memory",
          .vendor_code = done.code}});
  }
  return {};
}

void incarnation::change_memory(const memory_change& change) {
  if (!configured_ || stage_ == stage::failed) return;
  const memory_piece& piece = change.piece;
  if (is_process()) {
    const wire::memory_message message{.kind = change.kind,
                                       .pool = piece.pool,
                                       .offset = piece.offset,
                                       .bytes = piece.bytes,
                                       .version = change.version,
                                       .writable = piece.writable ? 1u : 0u};
    const std::span<const int> descriptors(&piece.descriptor,
                                           change.kind == wire::control::map ? 1u : 0u);
    if (auto sent = send(message, descriptors, piece.keep); !sent) fail(std::move(sent).error());
    return;
  }
  worker::engine& backend = runtime_->backend();
  result<void> changed;
  switch (change.kind) {
    case wire::control::map: {
      const os::unique_fd memory(::fcntl(piece.descriptor, F_DUPFD_CLOEXEC, 0));
      changed = backend.map(piece.pool, piece.offset, piece.bytes, memory);
      break;
    }
    case wire::control::unmap:
      changed = backend.unmap(piece.pool, piece.offset, piece.bytes);
      break;
    default:
      changed = backend.share_up_to(piece.bytes);
      break;
  }
  if (!changed) return fail(std::move(changed).error());
  backend.set_memory_version(change.version);
}

void incarnation::protect(const frozen_range& range, bool read_only) {
  const auto note = [&] {
    std::erase_if(frozen_, [&](const frozen_range& r) { return r.offset == range.offset; });
    if (read_only) frozen_.push_back(range);
  };
  if (!is_process()) {
    // The worker shares the program's own mapping.
    auto changed = runtime_->backend().protect(range.offset, range.bytes, read_only);
    protects_acknowledged_ = ++protects_sent_;
    if (changed) return note();
    if (changed.error().code != errc::out_of_memory) return fail(std::move(changed).error());
    refused_protects_.push_back({protects_sent_, std::move(changed).error()});
    return;
  }
  if (!configured_) return note();
  const wire::protect_message message{.read_only = read_only ? 1u : 0u,
                                      .id = ++protects_sent_,
                                      .offset = range.offset,
                                      .bytes = range.bytes};
  if (auto sent = send(message); !sent) fail(std::move(sent).error());
  note_debt(false);
}

void incarnation::serves(std::uint64_t generation) {
  if (!is_process()) return;
  (void)send(wire::plain_message{.kind = wire::control::serves, .id = generation});
}

void incarnation::ping() {
  const wire::plain_message message{.kind = wire::control::ping, .id = ++pings_sent_};
  // An unreachable worker does not answer; the missing answer shows it.
  (void)send(message);
}

// Never waits: a worker that does not read must not hold up the device thread.
template <class Message>
result<void> incarnation::send(const Message& message, std::span<const int> descriptors,
                               const std::shared_ptr<const memory_slab>& keep) {
  if (unsent_.size() == most_unsent) {
    return error{.code = errc::device_fault,
                 .message = fmt::format("{} messages that it has not read", most_unsent)};
  }
  const std::span bytes = std::as_bytes(std::span(&message, 1));
  unsent_.push_back({.bytes = {bytes.begin(), bytes.end()},
                     .descriptors = {descriptors.begin(), descriptors.end()},
                     .keep = keep});
  return send_unsent();
}

result<void> incarnation::send_unsent() {
  bool sent_some = false;
  for (; !unsent_.empty(); unsent_.pop_front(), sent_some = true) {
    const unsent_message& next = unsent_.front();
    auto sent =
        os::send_message(control_, next.bytes, next.descriptors, os::wait_mode::non_blocking);
    if (sent) continue;
    const auto code = sent.error().vendor_code;
    if (code == EAGAIN) break;
    // A worker that has closed its end is found to have ended; its last message or its exit status
    // says why.
    if (code != EPIPE && code != ECONNRESET) return sent;
  }
  note_debt(sent_some);
  return {};
}

void incarnation::note_debt(bool was_paid_some) noexcept {
  const bool owes = has_unsent() || protects_acknowledged_ < protects_sent_;
  if (!owes) {
    unanswered_since_.reset();
  } else if (was_paid_some || !unanswered_since_) {
    unanswered_since_ = std::chrono::steady_clock::now();
  }
}

}  // namespace troupe
