#pragma once

#include <troupe/plugin/worker_entry.hpp>
#include <troupe/request/request.hpp>

#include <string_view>

namespace troupe::test {

/// Overwrites y with three times x, of the same length.
struct tripling {
  static constexpr std::string_view name = "journals.tripling";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  /// It is wrong in one element, in a worker with `wrong_where_asked_variable`.
  bool can_be_wrong = false;

  static void describe(description<tripling>& d);
};

/// An environment variable of a worker: the number of the element that it computes wrongly.
inline constexpr const char* wrong_from_variable = "TROUPE_TEST_WRONG_ELEMENT";
/// The same for requests that can be wrong.
inline constexpr const char* wrong_where_asked_variable = "TROUPE_TEST_WRONG_WHERE_ASKED";

void add_tripling(operation_table& operations);

/// The first argument of this program where it is to record a journal until it is killed; the
/// second is the file.
inline constexpr std::string_view record_for_ever = "--record-until-killed";
[[noreturn]] void record_until_killed(const char* path);

}  // namespace troupe::test
