#pragma once

#include <troupe/base/result.hpp>

#include <utility>

namespace troupe::detail {

template <class T>
[[nodiscard]] T value_of(result<T>&& from) noexcept {
  return *std::move(from);
}
inline void value_of(result<void>&&) noexcept {}

}  // namespace troupe::detail

/// Takes the value out of a `result`; on failure, returns its error from the function.
/// \code
///   TRY(check(cusparseSpMV(…), "cusparseSpMV"));  // result<void>: a statement
///   const auto plan = TRY(find_plan(key));        // result<T>: a T, moved out
///   c.bytes(TRY(buffer_size(…)));                 // or an argument
/// \endcode
/// Evaluates its argument once. Temporaries of the argument end before the value is used. On the
/// return, the temporaries that the rest of the expression has made so far are destroyed (tried
/// with g++ 12, clang 19 and nvcc 13). Which of the other arguments of a call have been evaluated
/// by then is unspecified, so none of them may have a side effect that matters.
/// Nor may TRY be an argument of `new`, whose memory would be lost.
/// Do not write one TRY directly in the argument of another: nvcc's front end crashes. In the body
/// of a lambda that is an argument it may stand.
#define TRY(...) TROUPE_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
// A name of its own for each, so that one in a lambda shadows none.
#define TROUPE_TRY_COUNTED(number, ...) TROUPE_TRY_NAMED(number, __VA_ARGS__)
#define TROUPE_TRY_NAMED(number, ...)                                \
  __extension__({                                                    \
    auto&& tried_##number = (__VA_ARGS__);                           \
    if (!tried_##number) return ::std::move(tried_##number).error(); \
    ::troupe::detail::value_of(::std::move(tried_##number));         \
  })
