#pragma once

#include <troupe/core/task.hpp>
#include <troupe/request/request.hpp>

#include <type_traits>
#include <utility>

namespace troupe {

/// A request that has been carried out, with its outputs, and its reply.
template <request R>
struct answered {
  R request;
  reply_of<R> reply;
};

/// A request that has been sent, with the outputs that were allocated for it (`device::compute`).
///
/// The request's fields are there at once, by their own names, and can be operands of the next
/// request, which is ordered after this one:
///
///     auto c = gpu.compute(blas::gemm{.a = a, .b = b});
///     auto y = gpu.compute(elementwise::softmax{.x = c->c});
///     co_await gpu.copy(y->y, std::span(numbers));
///
/// It is also the future of the request: `R` with its outputs, or `answered<R>` if the request has
/// a reply. If the request fails, or was refused, its outputs are tainted, so that a request that
/// reads one fails, too (`errc::tainted_buffer`). A tensor that could not be allocated is null.
template <request R>
class [[nodiscard]] computed {
 public:
  using value_type = std::conditional_t<std::is_void_v<reply_of<R>>, R, answered<R>>;

  computed(R request, future<reply_of<R>> answer) noexcept
      : request_(std::move(request)), answer_(std::move(answer)) {}

  /// The request as it was sent. Valid also after the answer has been taken.
  [[nodiscard]] const R& operator*() const noexcept { return request_; }
  [[nodiscard]] const R* operator->() const noexcept { return &request_; }

  [[nodiscard]] bool ready() const { return answer_.ready(); }
  /// Blocks.
  void wait() const { answer_.wait(); }
  /// Blocks; returns the outputs, and the reply if there is one, or throws `failure`.
  value_type get() { return get_result().value(); }
  /// Blocks; the same, or the error.
  [[nodiscard]] result<value_type> get_result() {
    auto reply = answer_.get_result();
    if (!reply) return std::move(reply).error();
    if constexpr (std::is_void_v<reply_of<R>>) {
      return request_;
    } else {
      return value_type{request_, *std::move(reply)};
    }
  }

  /// The future of the reply alone, for continuations (`then`), `when_all` and the like. It
  /// consumes the answer, as `get`, `get_result` and `co_await` do.
  [[nodiscard]] future<reply_of<R>> answer() noexcept { return std::move(answer_); }

  /// `co_await gpu.compute(r)` returns the same as `get()`; so does `co_await y`.
  [[nodiscard]] auto operator co_await() {
    return detail::future_awaiter<value_type, false>(outcome());
  }

 private:
  future<value_type> outcome() {
    if constexpr (std::is_void_v<reply_of<R>>) {
      return answer_.then([r = request_]() mutable { return std::move(r); });
    } else {
      return answer_.then([r = request_](reply_of<R> reply) mutable {
        return value_type{std::move(r), std::move(reply)};
      });
    }
  }

  R request_;
  future<reply_of<R>> answer_;
};

}  // namespace troupe
