#include "base/sha256.hpp"

#include <troupe/serving/batcher.hpp>

#include <array>
#include <cstring>
#include <random>
#include <string>

namespace troupe::serving {

std::uint64_t fingerprint_of(std::span<const std::byte> content) {
  static const std::uint64_t key = [] {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32 | random();
  }();
  const auto digest = troupe::detail::sha256().number(key).bytes(content).finish();
  std::uint64_t made = 0;
  std::memcpy(&made, digest.data(), sizeof made);
  return made != 0 ? made : 1;
}

namespace detail {

error refusal_error(const admission& verdict) {
  const std::string reason(to_string(verdict.reason));
  error made{.code = errc::mailbox_full,
             .message = "batcher: the item was refused: " + reason,
             .code_name = reason};
  if (verdict.reason == refusal::quarantine) {
    made.code = errc::poisonous;
    made.message = "batcher: an equal item was a culprit and is in quarantine";
  }
  if (verdict.retry_after.count() > 0)
    made.message += "; again in " + std::to_string(verdict.retry_after.count() / 1'000'000) + " ms";
  return made;
}

error ending_error(item_ending how, const error& of_batch) {
  switch (how) {
    case item_ending::expired:
      return {.code = errc::deadline_exceeded,
              .message = "batcher: the item would have been answered too late"};
    case item_ending::culprit:
    case item_ending::failed:
      break;
  }
  return of_batch;
}

run_end end_of(const error& why) noexcept {
  switch (why.code) {
    case errc::device_stopped:
    case errc::device_unavailable:
    case errc::device_condemned:
    case errc::worker_not_found:
    case errc::version_mismatch:
    case errc::library_missing:
    case errc::actor_stopped:
      return run_end::failed;
    case errc::aborted:
      // With a signal: its worker was killed each time that it ran.
      return why.code_name.empty() ? run_end::aborted : run_end::fault;
    case errc::device_fault:
      return run_end::fault;
    case errc::invalid_argument:
    case errc::shape_mismatch:
    case errc::type_mismatch:
    case errc::layout_unsupported:
    case errc::aliasing:
    case errc::size_overflow:
    case errc::unsupported:
    case errc::stale_buffer:
    case errc::tainted_buffer:
    case errc::frozen_buffer:
    case errc::foreign_buffer:
    case errc::out_of_memory:
    case errc::capacity_exceeded:
    case errc::mailbox_full:
    case errc::cancelled:
    case errc::timed_out:
    case errc::deadline_exceeded:
    case errc::no_reply:
    case errc::handler_failed:
    case errc::poisonous:
    case errc::protocol_violation:
    case errc::library_error:
    case errc::numerical:
    case errc::system_error:
      return run_end::exception;
  }
  return run_end::exception;
}

error wrong_number(std::size_t answers, std::size_t items) {
  // No item's fault, and running it again would not help.
  return {.code = errc::actor_stopped,
          .message = "batcher: the function gave " + std::to_string(answers) + " answers for " +
                     std::to_string(items) + " items"};
}

}  // namespace detail
}  // namespace troupe::serving
