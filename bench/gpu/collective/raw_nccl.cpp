#include "gpu/collective/raw_nccl.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::bench::raw {
namespace {

using comm = void*;
constexpr int f32 = 7;
constexpr int sum = 0;

// By name, as its header declares them: nothing here needs that header.
struct library {
  int (*init_all)(comm*, int, const int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, comm, cudaStream_t) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, comm, cudaStream_t) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, comm, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, comm, cudaStream_t) = nullptr;
  int (*send)(const void*, std::size_t, int, int, comm, cudaStream_t) = nullptr;
  int (*receive)(void*, std::size_t, int, int, comm, cudaStream_t) = nullptr;

  bool load() {
    void* const from = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (from == nullptr) return false;
    const auto find = [&]<class F>(F& function, const char* name) {
      function = reinterpret_cast<F>(::dlsym(from, name));
      return function != nullptr;
    };
    return find(init_all, "ncclCommInitAll") && find(group_start, "ncclGroupStart") &&
           find(group_end, "ncclGroupEnd") && find(all_reduce, "ncclAllReduce") &&
           find(reduce_scatter, "ncclReduceScatter") && find(broadcast, "ncclBroadcast") &&
           find(all_gather, "ncclAllGather") && find(send, "ncclSend") && find(receive, "ncclRecv");
  }
};

void must(int code, const char* call) {
  if (code != 0) throw std::runtime_error(std::string(call) + ": " + std::to_string(code));
}

class real_ranks final : public nccl_ranks {
 public:
  real_ranks(const library& nccl, int ranks, std::size_t bytes) : nccl_(nccl) {
    comms_.resize(static_cast<std::size_t>(ranks));
    must(nccl_.init_all(comms_.data(), ranks, nullptr), "ncclCommInitAll");
    for (int rank = 0; rank < ranks; ++rank) {
      one& made = ranks_.emplace_back();
      must(cudaSetDevice(rank), "cudaSetDevice");
      must(cudaStreamCreateWithFlags(&made.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      for (void** memory : {&made.x, &made.y}) {
        must(cudaMalloc(memory, bytes), "cudaMalloc");
        must(cudaMemset(*memory, 0, bytes), "cudaMemset");
      }
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank) (void)cudaDeviceEnablePeerAccess(peer, 0);
      }
      (void)cudaGetLastError();
    }
  }

  void run(operation what, std::size_t bytes, int times) override {
    for (int i = 0; i < times; ++i) {
      if (what == operation::copy) {
        must(cudaMemcpyPeerAsync(ranks_[1].y, 1, ranks_[0].x, 0, bytes, ranks_[1].stream),
             "cudaMemcpyPeerAsync");
        continue;
      }
      must(nccl_.group_start(), "ncclGroupStart");
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
        enqueue(what, bytes / sizeof(float), rank);
      must(nccl_.group_end(), "ncclGroupEnd");
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      must(cudaSetDevice(static_cast<int>(rank)), "cudaSetDevice");
      must(cudaStreamSynchronize(ranks_[rank].stream), "cudaStreamSynchronize");
    }
  }

 private:
  struct one {
    cudaStream_t stream = nullptr;
    void* x = nullptr;
    void* y = nullptr;
  };

  void enqueue(operation what, std::size_t count, std::size_t rank) {
    const one& r = ranks_[rank];
    const comm c = comms_[rank];
    const std::size_t part = count / ranks_.size();
    const auto at = [&](void* of, std::size_t peer) {
      return static_cast<float*>(of) + peer * part;
    };
    switch (what) {
      case operation::all_reduce:
        return must(nccl_.all_reduce(r.x, r.y, count, f32, sum, c, r.stream), "ncclAllReduce");
      case operation::all_reduce_in_place:
        return must(nccl_.all_reduce(r.x, r.x, count, f32, sum, c, r.stream), "ncclAllReduce");
      case operation::reduce_scatter:
        return must(nccl_.reduce_scatter(r.x, r.y, part, f32, sum, c, r.stream),
                    "ncclReduceScatter");
      case operation::broadcast:
        return must(nccl_.broadcast(r.x, r.y, count, f32, 0, c, r.stream), "ncclBroadcast");
      case operation::all_gather:
        return must(nccl_.all_gather(r.x, r.y, part, f32, c, r.stream), "ncclAllGather");
      case operation::all_to_all:
        for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
          must(nccl_.send(at(r.x, peer), part, f32, static_cast<int>(peer), c, r.stream),
               "ncclSend");
          must(nccl_.receive(at(r.y, peer), part, f32, static_cast<int>(peer), c, r.stream),
               "ncclRecv");
        }
        return;
      case operation::copy:
        return;
    }
  }

  library nccl_;
  std::vector<comm> comms_;
  std::vector<one> ranks_;
};

}  // namespace

int gpu_count() {
  int gpus = 0;
  return cudaGetDeviceCount(&gpus) == cudaSuccess ? gpus : 0;
}

std::unique_ptr<nccl_ranks> nccl_ranks::make(int ranks, std::size_t bytes) {
  library nccl;
  if (gpu_count() < ranks || !nccl.load()) return nullptr;
  return std::make_unique<real_ranks>(nccl, ranks, bytes);
}

}  // namespace troupe::bench::raw
