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
///
/// Do not nest one TRY in another: `-Wshadow` refuses it, and nvcc's front end crashes.
#define TRY(...)                                                 \
  __extension__({                                                \
    auto&& troupe_tried = (__VA_ARGS__);                         \
    if (!troupe_tried) return ::std::move(troupe_tried).error(); \
    ::troupe::detail::value_of(::std::move(troupe_tried));       \
  })
