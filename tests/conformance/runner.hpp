#pragma once

#include <troupe/worker/executor.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace troupe::conformance {

/// Where the conformance suite runs requests. Tests reach memory only through this, so that the
/// same tests run against executors called directly, a worker thread, a worker process, or a GPU.
class runner {
 public:
  virtual ~runner() = default;

  /// Fresh memory: a packed tensor of rank 1, valid until `release`.
  virtual any_tensor allocate(dtype type, std::int64_t count) = 0;
  virtual void release() = 0;
  /// Both take packed tensors from `allocate`.
  virtual void upload(const any_tensor& to, std::span<const std::byte> bytes) = 0;
  virtual void download(const any_tensor& from, std::span<std::byte> bytes) = 0;

  /// Validates `request` and runs it; its reply is written to `reply`.
  virtual result<void> run(const request_type& type, void* request, std::span<std::byte> reply) = 0;

  /// Every operation that can be run, for the coverage check.
  virtual std::span<const operation> operations() = 0;

  template <request R>
  result<reply_of<R>> operator()(R r) {
    if constexpr (std::is_void_v<reply_of<R>>) {
      return run(request_type_of<R>(), &r, {});
    } else {
      reply_of<R> reply{};
      if (auto done = run(request_type_of<R>(), &r, std::as_writable_bytes(std::span(&reply, 1)));
          !done) {
        return std::move(done).error();
      }
      return reply;
    }
  }
};

/// Calls the executors of the CPU backend's plugin in this thread.
std::unique_ptr<runner> make_direct_runner();

}  // namespace troupe::conformance
