#pragma once

#include <troupe/request/request.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace troupe {

/// What an executor may use while it runs: the lane it runs in and that lane's workspace.
class lane_context {
 public:
  [[nodiscard]] virtual int lane() const noexcept = 0;
  /// Scratch memory of the lane, 64-byte aligned, undefined content, valid until the executor
  /// returns or asks again. \errors `out_of_memory` with the bytes asked for.
  [[nodiscard]] virtual result<std::span<std::byte>> workspace(std::size_t bytes) = 0;

 protected:
  ~lane_context() = default;
};

/// How long an operation takes.
enum class effort : std::uint8_t {
  unknown,  ///< as long as it likes: others are taken up meanwhile
  by_size,  ///< microseconds when its operands are small; then it is run without any hand-over
};

/// One operation as a worker knows it: how to decode it and how to run it.
struct operation {
  const request_type* type = nullptr;
  /// Runs the request and writes its reply (`type->reply_bytes` bytes) to `reply`.
  result<void> (*run)(void* executor, const void* request, lane_context& lane,
                      std::byte* reply) = nullptr;
  void* executor = nullptr;
  troupe::effort effort = troupe::effort::unknown;
  /// What an accelerator has enqueued for it may find out that the request fails, and write so into
  /// the reply.
  bool fails_late = false;
  /// Asked once all that the request waits for has ended, and again when the program wakes the
  /// worker; while it answers false the request waits, beside others that run. Null for one that
  /// never waits.
  bool (*ready)(const void* request) = nullptr;
};

/// Where a backend, a plugin or a program that is its own worker lists its operations.
class TROUPE_EXPORT operation_table {
 public:
  operation_table();
  operation_table(operation_table&&) noexcept;
  operation_table& operator=(operation_table&&) noexcept;
  ~operation_table();

  /// Adds the executor of `R`: a function `result<reply_of<R>>(const R&, lane_context&)`.
  template <request R>
  void add(result<reply_of<R>> (*executor)(const R&, lane_context&),
           effort how_long = effort::unknown) {
    insert(operation{
        .type = &request_type_of<R>(),
        .run = [](void* held, const void* r, lane_context& lane, std::byte* reply) -> result<void> {
          const auto function =
              reinterpret_cast<result<reply_of<R>> (*)(const R&, lane_context&)>(held);
          auto answer = function(*static_cast<const R*>(r), lane);
          if (!answer) return std::move(answer).error();
          if constexpr (!std::is_void_v<reply_of<R>>) {
            std::memcpy(reply, &*answer, sizeof(reply_of<R>));
          }
          return {};
        },
        .executor = reinterpret_cast<void*>(executor),
        .effort = how_long});
  }

  /// Adds an operation; one of the same request that is there already is replaced.
  void insert(operation added);

  /// The operation with that id, or null.
  [[nodiscard]] const operation* find(std::uint64_t id) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// Every operation, in the order added.
  [[nodiscard]] std::span<const operation> all() const noexcept;
  /// Those that another one of the same request has replaced.
  [[nodiscard]] std::span<const operation> replaced() const noexcept;

 private:
  struct index;
  std::unique_ptr<index> index_;
};

}  // namespace troupe
