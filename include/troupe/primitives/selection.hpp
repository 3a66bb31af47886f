#pragma once

#include <troupe/request/request.hpp>

/// Elements of a vector chosen by flags or by comparison with their neighbours. Vectors have any
/// length and any stride of at least 1, and elements of any type. The order of x is kept.
///
/// The number of elements is known only once the request has run: it is the reply, and is also
/// written to `count`, a one-element tensor of i64, if that is given. The caller chooses the
/// lengths of the outputs. If they are less than that number the request fails with
/// `capacity_exceeded`, whose message has it, and `count` has it too; all other outputs are
/// unspecified. Elements behind that number are not written.
namespace troupe::primitives {

/// y = the elements of x whose flag is not 0. Flags: boolean, u8.
struct TROUPE_EXPORT select {
  static constexpr std::string_view name = "primitives.select";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor flags{};
  any_tensor y{};
  any_tensor count{};

  static void describe(description<select>& d);
};

/// y = the elements of x whose flag is not 0, then the others, each in the order of x. Replies with
/// the number of the first. Flags: boolean, u8.
struct TROUPE_EXPORT partition {
  static constexpr std::string_view name = "primitives.partition";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor flags{};
  any_tensor y{};
  any_tensor count{};

  static void describe(description<partition>& d);
};

/// y = x without the elements that equal the one before them. Elements are equal if their bits are:
/// −0 and +0 differ, and a NaN equals itself.
///
/// With `sort`, each element of x once, in the ascending order of `sorting.hpp`, wherever in x it
/// is; x is not complex then (`type_mismatch`).
///
/// `counts` (i64), if given, takes how many elements of x each one of y stands for, and `inverse`
/// (i64) which one of y each element of x equals: x[i] = y[inverse[i]]. With `sort`, `inverse`
/// needs x to have at most 2^31 − 1 elements (`size_overflow`). If y is left out, it gets the
/// length of x.
struct TROUPE_EXPORT unique {
  static constexpr std::string_view name = "primitives.unique";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor y{};
  any_tensor count{};
  bool sort = false;
  any_tensor counts{};
  any_tensor inverse{};

  static void describe(description<unique>& d);
};

/// The runs of equal elements of x: `values` has one element of each, `lengths` (i64) how many
/// there are. Elements are equal if their bits are. Replies with the number of runs.
struct TROUPE_EXPORT run_length {
  static constexpr std::string_view name = "primitives.run_length";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor values{};
  any_tensor lengths{};
  any_tensor count{};

  static void describe(description<run_length>& d);
};

}  // namespace troupe::primitives
