#include "raw_pipeline.hpp"

#include "gpu/raw/raw.hpp"
#include "gpu/raw/raw_check.hpp"

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

  cudaEvent_t made = nullptr;
};

struct frame {
  explicit frame(std::size_t bytes)
      : x(memory::place::device, bytes), c(memory::place::device, bytes) {}

  memory x, c;
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

// Everything is enqueued at once: a frame is used again when the streams say so, and the program
// waits at the end.
void pipeline::run(const float* from, float* to, int slots, int count) {
  parts& p = *parts_;
  const std::size_t elements = p.bytes / sizeof(float);
  for (int item = 0; item < count; ++item) {
    const std::size_t slot = static_cast<std::size_t>(item % slots) * elements;
    frame& f = p.frames[static_cast<std::size_t>(item) % p.frames.size()];
    f.multiplied.precede(p.copies_in);
    p.copies_in.copy(f.x.address(), from + slot, p.bytes);
    f.copied.record(p.copies_in);
    f.copied.precede(p.computes);
    f.done.precede(p.computes);
    p.products.multiply(p.n, f.x.address(), p.w.address(), f.c.address());
    f.multiplied.record(p.computes);
    f.multiplied.precede(p.copies_out);
    p.copies_out.copy(to + slot, f.c.address(), p.bytes);
    f.done.record(p.copies_out);
  }
  p.copies_out.synchronize();
}

}  // namespace troupe::bench::raw
