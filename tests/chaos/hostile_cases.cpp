#include "hostile_cases.hpp"

#include "hostile_worker.hpp"

#include <csignal>
#include <cstdint>

namespace troupe::chaos {
namespace {

using gpu_test::fault_case;
using gpu_test::way;

constexpr fault_case deed_case(std::string_view name, deed what) {
  return {.name = name, .way = way::deed, .detail = static_cast<std::uint8_t>(what)};
}
constexpr fault_case harmless_case(std::string_view name, deed what) {
  return {.name = name,
          .way = way::deed,
          .ends_worker = false,
          .code = errc{},
          .detail = static_cast<std::uint8_t>(what)};
}
constexpr fault_case standby_case(std::string_view name, bad_start how) {
  return {.name = name,
          .way = way::standby_start,
          .ends_worker = false,
          .detail = static_cast<std::uint8_t>(how)};
}
constexpr fault_case needed_case(std::string_view name, bad_start how) {
  return {.name = name, .way = way::needed_start, .detail = static_cast<std::uint8_t>(how)};
}

std::vector<fault_case> make_cases() {
  std::vector<fault_case> all{
      deed_case("throws_elsewhere", deed::throws_elsewhere),
      deed_case("lost_completion", deed::lost_completion),
      deed_case("writes_mailbox", deed::writes_mailbox),
      deed_case("marks_beyond", deed::marks_beyond),
      deed_case("marks_back", deed::marks_back),
      deed_case("marks_anything", deed::marks_anything),
      // It goes unnoticed if nothing runs beside it.
      harmless_case("replies_of_others", deed::replies_of_others),
      deed_case("says_garbage", deed::says_garbage),
      deed_case("says_half", deed::says_half),
      deed_case("says_too_much", deed::says_too_much),
      deed_case("says_nothing", deed::says_nothing),
      deed_case("says_what_it_may_not", deed::says_what_it_may_not),
      deed_case("says_hello_again", deed::says_hello_again),
      deed_case("says_ready_again", deed::says_ready_again),
      deed_case("fails_without_words", deed::fails_without_words),
      deed_case("hangs_up", deed::hangs_up),
      harmless_case("rings_at_random", deed::rings_at_random),
      deed_case("says_what_was_not_asked", deed::says_what_was_not_asked),
      {.name = "killed_twice", .way = way::twice, .signal = SIGKILL},
      {.name = "crashed_twice", .way = way::twice, .signal = SIGSEGV},
  };
  for (const auto& [name, how] : bad_starts()) {
    all.push_back(standby_case(name, how));
    all.push_back(needed_case(name, how));
  }
  return all;
}

}  // namespace

const std::vector<fault_case>& hostile_cases() {
  static const std::vector<fault_case> all = make_cases();
  return all;
}

}  // namespace troupe::chaos
