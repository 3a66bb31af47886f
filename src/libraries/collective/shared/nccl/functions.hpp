#pragma once

#include <troupe/base/result.hpp>

#include <cstddef>

namespace troupe::collective::nccl {

/// As NCCL 2 declares them: it is loaded at run time, and nothing here needs its header.
struct unique_id {
  char bytes[128];
};
using communicator = struct ncclComm*;
using stream = struct CUstream_st*;

inline constexpr int success = 0;
enum type : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
  e4m3 = 10,
  e5m2 = 11,
};
enum operation : int { sum = 0, prod = 1, max = 2, min = 3, avg = 4 };
enum residence : int { on_device = 0, host_immediate = 1 };

struct functions {
  int (*version)(int*) = nullptr;
  const char* (*text_of)(int) = nullptr;
  int (*get_id)(unique_id*) = nullptr;
  int (*init_rank)(communicator*, int ranks, unique_id, int rank) = nullptr;
  int (*abort)(communicator) = nullptr;
  int (*async_error)(communicator, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int type, int op, communicator,
                    stream) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int type, int op, int root, communicator,
                stream) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int type, int op, communicator,
                        stream) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int type, int root, communicator,
                   stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int type, communicator, stream) = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, communicator, stream) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, communicator, stream) = nullptr;
  int (*make_scaled_sum)(int* op, void* scalar, int type, int residence, communicator) = nullptr;
  int (*end_operation)(int op, communicator) = nullptr;
  /// Not NCCL's: the library of the tests, which works in host memory, has it.
  bool is_of_tests = false;
};

/// Searched once per process. \errors `library_missing`, with the places that were searched;
/// `version_mismatch` for one without a function that is needed
[[nodiscard]] result<const functions*> load();

/// \errors `library_error` with NCCL's code, unless it is 0
[[nodiscard]] result<void> outcome_of(const functions& nccl, int code, const char* call);

}  // namespace troupe::collective::nccl
