#include "worker/threads/execution.hpp"

#include "worker/process/crash.hpp"

#include <troupe/request/any_request.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

namespace troupe::worker {
namespace {

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

result<void> may_run(job& j, const inbox& requests) {
  if (j.refused) {
    // Refused while it was decoded.
  } else if (requests.revoked(j.slot)) {
    j.refused = {.code = errc::cancelled, .message = "cancelled before it was run"};
  } else if (j.deadline_ns != 0 && now_ns() >= j.deadline_ns) {
    j.refused = {.code = errc::deadline_exceeded,
                 .message = "the deadline passed before the request was run"};
  }
  if (j.refused) return std::move(*j.refused);
  return {};
}

result<void> call_executor(const job& j, lane_context& lane, outbox& answers,
                           wire::request_stamps* stamps) {
  crash::running_request& running = crash::of_this_thread();
  running.ticket = j.ticket;
  running.active = true;
  answers.calls(j);
  lane.set_sequence(j.sequence);
  if (stamps != nullptr) [[unlikely]] {
    stamps->turn = j.turn.count();
    stamps->called = now_ns();
  }
  result<void> outcome;
  try {
    const operation& op = *j.op;
    const void* const request = j.what().request.get();
    if (op.type->described_reply == nullptr) [[likely]] {
      outcome = op.run(op.executor, request, lane, answers.reply_memory(j));
    } else {
      any_value reply(*op.type->described_reply);
      outcome = op.run(op.executor, request, lane, static_cast<std::byte*>(reply.data()));
      if (outcome) outcome = answers.put_reply(j, reply.data());
    }
  } catch (const std::bad_alloc& none) {
    outcome = error{.code = errc::out_of_memory,
                    .message = std::string("in the executor: ") + none.what()};
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  } catch (...) {
    outcome = error{.code = errc::handler_failed, .message = "an exception of unknown type"};
  }
  answers.returned(j);
  if (stamps != nullptr) [[unlikely]]
    stamps->returned = now_ns();
  running.active = false;
  return outcome;
}

}  // namespace troupe::worker
