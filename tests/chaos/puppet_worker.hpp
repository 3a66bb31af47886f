#pragma once

#include <troupe/plugin/executor.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// A worker without anything of ours in it but the layout of what is shared: it does with its end
/// of the boundary whatever a request tells it to.
namespace troupe::chaos {

/// A puppet's action on request; `question::number` chooses one of several ways.
enum class trick : std::uint8_t {
  none,               ///< answers well
  marks,              ///< the mark of the lane is what it cannot be
  answers_twice,      ///< and differently
  spoils_reply,       ///< the reply is none of this request
  fails_strangely,    ///< the reply is an error without end, or of no known kind
  spoils_field,       ///< one field of its segment is nonsense for a while
  makes_noise,        ///< all that it can write is nonsense for a while
  speaks,             ///< a control message that it may not send, again and again
  hands_descriptors,  ///< with a control message: memory, a pipe, a folder, its own socket
  reads_nothing,      ///< answers, and reads no control message from then on
  owes_answers,       ///< answers, and reads control messages without doing what they say
  refuses_rights,     ///< answers, and has no room for frozen memory, thawed, or both
  takes_wakes,        ///< takes the program's wakes, or floods it with them
  tampers,            ///< tries what seals forbid; answers how often it succeeded
  leaves_child,       ///< ends, and leaves a process behind that makes noise
  forges_report,      ///< crashes with a crash report that is a lie
  ends_in_calls,      ///< exits without an answer to any request of the roles below
};
inline constexpr trick last_trick = trick::ends_in_calls;

/// The `question::number` of those that `ends_in_calls`: it exits with the last one.
inline constexpr std::int64_t role_begun = 0;   ///< its work has begun in the queue
inline constexpr std::int64_t role_called = 1;  ///< its executor is being called
inline constexpr std::int64_t role_last_called = 2;

/// How many ways there are.
[[nodiscard]] std::int64_t ways_of(trick what);

/// Asked of a puppet. Every other worker answers `answer_to`.
struct question {
  using reply = scalar;
  static constexpr std::string_view name = "puppet.question";

  trick what = trick::none;
  std::int64_t number = 0;

  static void describe(description<question>& d) {
    d.about("Asks a puppet to do something, and any other worker to answer.");
    d.value("number", &question::number, "which of several ways");
    d.value("what", &question::what, "what a puppet does");
  }
};
[[nodiscard]] constexpr std::int64_t answer_to(std::int64_t number) noexcept { return number + 42; }

/// A puppet's second answer.
inline constexpr std::int64_t second_answer = -1;

/// For `worker_entry` and `device_config::own_operations`.
void add_puppet_operations(operation_table& operations);

/// First in `main`: a process that was started as a worker while this setting is in the
/// environment is a puppet, and does not return.
inline constexpr const char* puppet_setting = "TROUPE_TEST_PUPPET";
void maybe_be_puppet(int argc, char** argv);

}  // namespace troupe::chaos
