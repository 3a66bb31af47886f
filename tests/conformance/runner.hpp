#pragma once

#include <troupe/device/device.hpp>
#include <troupe/plugin/executor.hpp>
#include <troupe/request/any_request.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace troupe::conformance {

/// Runs the requests of the conformance suite. Tests access memory only through this, so that the
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

  /// Whether it calls the executors of a GPU, and an emulation does what they enqueue.
  [[nodiscard]] virtual bool is_emulation() const { return false; }
  /// Memory of the device that the test has allocated by itself, and that requests use.
  virtual void use(const any_tensor& memory) { (void)memory; }
  /// The device that requests are sent to; null where there is none.
  [[nodiscard]] virtual device* its_device() { return nullptr; }

  /// Runs `r` and answers its reply.
  template <request R>
  result<reply_of<R>> operator()(R r) {
    if (const library_actor* const actor = actor_of(request_type_of<R>().library())) {
      if (!save()) return actor->ask(std::move(r)).get_result();
      any_request same(request_type_of<R>());
      *static_cast<R*>(same.data()) = r;
      auto outcome = actor->ask(std::move(r)).get_result();
      if constexpr (std::is_void_v<reply_of<R>>) {
        if (outcome) compare(same, {});
      } else {
        const bool is_plain = request_type_of<R>().described_reply == nullptr;
        if (outcome) compare(same, std::as_bytes(std::span(&*outcome, is_plain ? 1 : 0)));
      }
      return outcome;
    }
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

 private:
  /// The request has run on a device with this reply, the bytes of a plain one: for runners that
  /// compare it with others. `save` comes before it runs.
  virtual bool save() { return false; }
  virtual void compare(const any_request& request, std::span<const std::byte> reply) {
    (void)request, (void)reply;
  }
  /// The actor that takes the requests of `library`; null where there is none and `run` does.
  virtual const library_actor* actor_of(std::string_view library) = 0;
  /// Validates `request` and runs it; its reply is written to `reply`.
  virtual result<void> run(const request_type& type, void* request, std::span<std::byte> reply) = 0;
};

/// The runner of this program, in a lane of its own: that of main.cpp's option, or the emulation's.
[[nodiscard]] std::unique_ptr<runner> make_runner();
/// The same, but for a device of the test's own; null where requests go to no device.
[[nodiscard]] std::unique_ptr<runner> make_runner_on(const device& own);

/// Every operation of the CPU backend, from its plugins.
[[nodiscard]] const operation_table& backend_operations();

}  // namespace troupe::conformance
