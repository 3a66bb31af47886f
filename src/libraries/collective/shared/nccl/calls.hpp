#pragma once

#include "libraries/collective/shared/nccl/communicators.hpp"

#include <troupe/collective/distribution.hpp>
#include <troupe/collective/exchange.hpp>
#include <troupe/collective/reduction.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::collective::nccl {

/// Enqueues requests by NCCL's functions. The program has checked that NCCL may do them
/// (`device/world/world_transport.hpp`): packed or dense, not in place, of a type that it has.
class calls {
 public:
  calls(const functions& nccl, communicator comm, stream on) noexcept
      : nccl_(nccl), comm_(comm), stream_(on) {}

  /// \errors `library_error`
  template <class R>
  [[nodiscard]] result<void> enqueue(const R& r) {
    int first = nccl_.group_start();
    make(r);
    const int end = nccl_.group_end();  // also after a failure
    note(first, "ncclGroupStart");
    note(end, "ncclGroupEnd");
    for (const int op : made_)
      (void)nccl_.end_operation(op, comm_);
    return outcome_of(nccl_, code_, call_);
  }

 private:
  void make(const all_reduce& r);
  void make(const reduce& r);
  void make(const reduce_scatter& r);
  void make(const broadcast& r);
  void make(const all_gather& r);
  void make(const gather& r);
  void make(const scatter& r);
  void make(const all_to_all& r);
  void make(const all_to_allv& r);
  void make(const exchange& r);
  void make(const barrier&) {}

  template <class R>
  int operation_of(const R& r, dtype type);
  void send(const any_tensor& from, std::int64_t first, std::int64_t count, std::size_t peer);
  void receive(const any_tensor& to, std::int64_t first, std::int64_t count, std::size_t peer);
  void note(int code, const char* call) noexcept {
    if (code_ != success || code == success) return;
    code_ = code;
    call_ = call;
  }

  const functions& nccl_;
  communicator comm_;
  stream stream_;
  std::vector<int> made_{};  // operations
  int code_ = success;
  const char* call_ = "";
};

/// Enqueues a request that has a connection. Returns false if the connection is broken: then
/// nothing may be enqueued, or what is enqueued ends without a result, so the part pulls by itself.
template <class R>
[[nodiscard]] bool enqueue(const R& r, stream on) {
  const connection::use used = connections::of_this_process().find(r.part);
  if (used.get() == nullptr) return false;
  auto outcome = calls(used.nccl(), used.get(), on).enqueue(r);
  if (outcome) return true;
  used.fail(outcome.error().to_string());
  return false;
}

}  // namespace troupe::collective::nccl
