#pragma once

#include <troupe/base/error.hpp>
#include <troupe/core/mailbox_options.hpp>
#include <troupe/core/supervision.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <vector>

namespace troupe::model {

/// Everything that a schedule does, drawn from a seed before it begins. Its runner draws only whose
/// turn it is; so that the model and the runtime, given one scenario, do the same.

/// One step of a handler. `kind` names the latest actor of that kind; -1 is the actor itself. A
/// step without a target is skipped.
enum class step_kind : std::uint8_t {
  tell,
  ask,
  fail,
  spawn,
  stop,
  stop_after_mailbox,
  watch,
  unwatch,
  stash,         ///< the message itself, unless it has been; ends the handler
  unstash,       ///< everything
  after,         ///< a timer
  every,         ///< a timer that repeats
  cancel_timer,  ///< the last that was set
  open_gate,     ///< number `number` for all that wait; `script`: an error's code, or -1
  cancel_asks,   ///< all that carry the stop token number `number`
};

struct step {
  step_kind what{};
  std::int32_t kind = -1;
  std::int32_t script = 0;  ///< the sent message's
  std::int32_t number = 0;  ///< the error code's, or the stop token's; -1: without
  std::chrono::nanoseconds time{};
};

/// A receiver's actions for a message.
struct script {
  std::int64_t bytes = 1;
  std::vector<step> steps;
  std::int32_t gate = -1;  ///< the handler, a coroutine then, waits there after its steps
};

/// How an actor is made.
struct actor_kind {
  supervision looks_after{};  ///< but for the decider
  std::int32_t decider = 0;   ///< of the scenario's, or `default_decides`
  mailbox_options mailbox{};
  std::int64_t stash_capacity = 0;
  bool reentrant = false;
  std::vector<std::int32_t> children;  ///< kinds that it spawns when it starts
  std::vector<std::int32_t> watches;   ///< kinds that it watches when it starts
  std::uint32_t failing_starts = 0;    ///< a bit for each incarnation
  bool fails_in_constructor = false;   ///< else in its first hook
  bool stops_at_start = false;
};

constexpr std::size_t error_codes = 4;
constexpr std::array<errc, error_codes> codes{errc::numerical, errc::out_of_memory,
                                              errc::device_fault, errc::aborted};
constexpr std::size_t deciders = 3;  // and the default
constexpr std::int32_t default_decides = deciders;
constexpr std::size_t stop_tokens = 3;
constexpr std::size_t gates = 3;

/// The kinds of actions from outside.
enum class action_kind : std::uint8_t {
  spawn,
  tell,
  ask,
  stop,
  stop_after_mailbox,
  await_end,  ///< `when_terminated`
  cancel_asks,
  open_gate,
  take_turns,  ///< up to `number`
  run_until_idle,
  ring,  ///< one alarm, up to `time` from now, without letting anybody run before
  advance,
  shut_down,
};

struct action {
  action_kind what{};
  std::int32_t kind = 0;
  std::int32_t script = 0;
  std::int32_t number = -1;
  std::chrono::nanoseconds time{};
};

struct scenario {
  std::uint64_t seed = 0;
  std::vector<actor_kind> kinds;
  std::vector<script> scripts;
  std::array<std::array<directive, error_codes>, deciders> verdicts{};
  std::array<directive, error_codes> last_words{};
  bool has_last_word = true;  ///< else escalations to the root are not decided
  supervision root{};
  std::int32_t root_decider = 0;
  std::vector<action> actions;

  static constexpr std::int32_t most_actors = 40;  ///< spawns stop there
};

[[nodiscard]] scenario draw_scenario(std::uint64_t seed);
void print(std::ostream& out, const scenario& s);

}  // namespace troupe::model
