#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace troupe::model {

/// The events of an actor system as seen from outside, in the order in which they happen.
enum class event_kind : std::uint8_t {
  action,        ///< a: which of the scenario's
  turn,          ///< a: the actor; b: how many actors were ready
  spawned,       ///< a: the new actor; b: its parent; c: its kind
  start_failed,  ///< a: the actor; b: incarnation; c: the failure
  started,       ///< a: who; b: incarnation; c: the failure that it was restarted for
  ended,         ///< a: who; b: incarnation; c: the failure that it is restarted for
  stopped,       ///< a: who; b: incarnation
  handles,       ///< a: who; b: the message; c: how many in this incarnation
  resumes,       ///< a: who; b: the message, whose coroutine has waited
  fails,         ///< a: who; b: the message; c: the failure
  sent,          ///< a: the message; b: its receiver; c: taken
  asks,          ///< a: the message; b: its receiver
  answered,      ///< a: the message; b: the error's code or 0; c: the answer
  dead_letter,   ///< a: the receiver; b: the code
  decides,       ///< a: the decider; b: the failure; c: the directive
  last_word,     ///< about an escalation to the root; b: the failure; c: the directive
  logged,        ///< a: who failed; b: the failure; c: the directive, or -1: its budget is spent
  told,          ///< a: the watcher; b: who has stopped; c: the failure
  terminated,    ///< to the outside; a: who; c: the failure
  shut_down,     ///< b: the error's code or 0
};

struct event {
  event_kind what{};
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int32_t c = 0;
  std::chrono::nanoseconds at{};

  bool operator==(const event&) const = default;
};

using trace = std::vector<event>;

[[nodiscard]] std::string to_string(const event& e);
/// The last `count` events before `end`, one a line.
void print(std::ostream& out, const trace& events, std::size_t end, std::size_t count);

}  // namespace troupe::model
