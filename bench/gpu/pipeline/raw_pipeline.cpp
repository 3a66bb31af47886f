#include "raw_pipeline.hpp"

#include "gpu/raw/raw.hpp"
#include "gpu/raw/raw_check.hpp"

#include <cstring>
#include <deque>
#include <vector>

namespace troupe::bench::raw {
namespace {

struct event {
  event() {
    check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { (void)cudaEventDestroy(made); }

  void record(const stream& on) const {
    check(cudaEventRecord(made, static_cast<cudaStream_t>(on.native())), "cudaEventRecord");
  }
  void precede(const stream& on) const {
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(on.native()), made, 0),
          "cudaStreamWaitEvent");
  }
  void wait() const { check(cudaEventSynchronize(made), "cudaEventSynchronize"); }

  cudaEvent_t made = nullptr;
};

struct frame {
  explicit frame(std::size_t bytes)
      : in(memory::place::pinned, bytes),
        out(memory::place::pinned, bytes),
        x(memory::place::device, bytes),
        c(memory::place::device, bytes) {}

  memory in, out, x, c;
  event copied, multiplied, done;
};

}  // namespace

struct pipeline::parts {
  parts(int size, int in_flight, const float* weights)
      : n(size),
        bytes(sizeof(float) * static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
        products(computes),
        w(memory::place::device, bytes) {
    for (int i = 0; i < in_flight; ++i)
      frames.emplace_back(bytes);
    computes.copy(w.address(), weights, bytes);
    computes.synchronize();
  }

  int n;
  std::size_t bytes;
  stream copies_in, computes, copies_out;
  cublas products;
  memory w;
  std::deque<frame> frames;
};

pipeline::pipeline(int n, int in_flight, const float* w)
    : parts_(std::make_unique<parts>(n, in_flight, w)) {}
pipeline::~pipeline() = default;

void pipeline::run(const float* from, float* to, int count) {
  parts& p = *parts_;
  const std::size_t elements = p.bytes / sizeof(float);
  const int all = static_cast<int>(p.frames.size());
  const auto take = [&](int item) {
    frame& f = p.frames[static_cast<std::size_t>(item % all)];
    f.done.wait();
    std::memcpy(to + static_cast<std::size_t>(item) * elements, f.out.address(), p.bytes);
  };
  for (int item = 0; item < count; ++item) {
    if (item >= all) take(item - all);
    frame& f = p.frames[static_cast<std::size_t>(item % all)];
    std::memcpy(f.in.address(), from + static_cast<std::size_t>(item) * elements, p.bytes);
    p.copies_in.copy(f.x.address(), f.in.address(), p.bytes);
    f.copied.record(p.copies_in);
    f.copied.precede(p.computes);
    p.products.multiply(p.n, f.x.address(), p.w.address(), f.c.address());
    f.multiplied.record(p.computes);
    f.multiplied.precede(p.copies_out);
    p.copies_out.copy(f.out.address(), f.c.address(), p.bytes);
    f.done.record(p.copies_out);
  }
  for (int item = count < all ? 0 : count - all; item < count; ++item)
    take(item);
}

}  // namespace troupe::bench::raw
