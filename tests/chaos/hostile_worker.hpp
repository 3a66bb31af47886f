#pragma once

#include "bad_start.hpp"

#include <troupe/plugin/executor.hpp>
#include <troupe/request/request.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace troupe::chaos {

/// The misdeeds of a worker in service.
enum class deed : std::uint8_t {
  throws_elsewhere,      ///< an uncaught exception, in a thread that runs no request
  lost_completion,       ///< does all its work, and never says so
  writes_mailbox,        ///< writes to the requests, which it may only read
  marks_beyond,          ///< says that a lane has completed more than it was given
  marks_back,            ///< says that a lane has completed less than before
  marks_anything,        ///< any numbers, in every lane
  replies_of_others,     ///< answers requests with other requests' replies
  says_garbage,          ///< an invalid control message
  says_half,             ///< half a control message
  says_too_much,         ///< a control message longer than any
  says_nothing,          ///< a control message of no bytes
  says_what_it_may_not,  ///< a message that only the program may send
  says_hello_again,
  says_ready_again,
  fails_without_words,  ///< says that its context is lost, with an error that is none
  hangs_up,             ///< closes its end of the socket
  says_what_was_not_asked,
  // After this it goes on.
  rings_at_random,  ///< scribbles over the words that sleepers sleep on
};
inline constexpr deed last_deed = deed::rings_at_random;

/// Commits it.
struct misbehave {
  using reply = void;
  static constexpr std::string_view name = "chaos.misbehave";

  deed what = deed::throws_elsewhere;
  any_tensor output{};      ///< f32, packed; written by the request, and undefined after a fault
  std::int64_t number = 0;  ///< of random numbers

  static void describe(description<misbehave>& d);
};

/// For `worker_entry` and `device_config::own_operations`. In a worker whose start is to go wrong,
/// it does.
void add_hostile_operations(operation_table& operations);

/// Says to one of the next workers how its start goes wrong. Workers are given the program's
/// environment, and find this in it.
class start_board {
 public:
  /// To be made before the program's first thread.
  start_board();
  start_board(const start_board&) = delete;
  start_board& operator=(const start_board&) = delete;
  ~start_board();

  /// The next worker that starts takes it.
  void spoil_next(bad_start how, std::uint32_t moment_us);
  /// True once one has.
  [[nodiscard]] bool taken() const;

 private:
  int descriptor_ = -1;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

/// First in `main`: in a process that was started as a worker and whose start is to go wrong before
/// it is configured, it does.
void maybe_start_badly(int argc, char** argv);

}  // namespace troupe::chaos
