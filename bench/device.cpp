// The cost of a request to a worker process, beside a bare hop to a process in the same run.

#include "placement.hpp"
#include "process_hop.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>

#include <cblas.h>

#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

double per_second(std::size_t count, clock::duration spent) {
  return static_cast<double>(count) / std::chrono::duration<double>(spent).count();
}

void add_both(report& out, const std::string& name, samples& ours, const std::string& floor,
              double median, double p99) {
  out.add({name + ", p50", ours.median(), "us", floor, median});
  out.add({name + ", p99", ours.p99(), "us", floor, p99});
}

void measure_requests(report& out, const device& gpu, const std::string& where,
                      const process_hop& floor) {
  const library_actor lane = gpu.library("lane");
  samples asks;
  asks.take(200'000, [&] { lane.ask(lane::marker{}).get(); });
  add_both(out, "ask, empty request, " + where, asks, "two bare process hops",
           floor.round_trip_us_median, floor.round_trip_us_p99);

  constexpr std::size_t count = 2'000'000;
  constexpr std::size_t batch = 512;
  std::vector<future<void>> answers;
  answers.reserve(batch);
  auto begin = clock::now();
  for (std::size_t i = 0; i < count; i += batch) {
    answers.clear();
    for (std::size_t j = 0; j < batch; ++j)
      answers.push_back(lane.ask(lane::marker{}));
    for (future<void>& one : answers)
      one.get();
  }
  out.add({"pipelined asks, a reply each, " + where, per_second(count, clock::now() - begin), "1/s",
           "bare ring", floor.pipelined_per_second});

  begin = clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    while (!lane.tell(lane::marker{})) {
    }
  }
  lane.ask(lane::marker{}).get();
  out.add({"pipelined tells, " + where, per_second(count, clock::now() - begin), "1/s", "bare ring",
           floor.pipelined_per_second});
}

/// Times of one side.
struct side {
  samples all;
  samples typical;  ///< the mean of the medians of two blocks, whose threads have changed places
};

struct gemm_case {
  std::int64_t n;
  int pairs;  ///< pairs of blocks
  std::size_t per_block;
  /// A product of one thread: it is done on one processor, and waited for on another one.
  bool of_one_thread;
};

void measure_gemm(report& out, device gpu, const gemm_case& what) {
  const std::int64_t n = what.n;
  const auto elements = static_cast<std::size_t>(n * n);
  std::vector<float> a(elements, 0.5F);
  std::vector<float> b(elements, 0.25F);
  std::vector<float> c(elements, 0);
  auto da = gpu.tensor<float>({n, n}).value();
  auto db = gpu.tensor<float>({n, n}).value();
  auto dc = gpu.tensor<float>({n, n}).value();
  gpu.copy(std::span(a), da).get();
  gpu.copy(std::span(b), db).get();
  const library_actor blas = gpu.library("blas");
  const auto call = [&] {
    ::cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n,
                  0, c.data(), n);
  };
  const auto ask = [&] { blas.ask(blas::gemm{.a = da, .b = db, .c = dc}).get(); };

  constexpr std::size_t warm_up = 10;
  bench::placement processors;
  side direct;
  side ours;
  for (int pair = 0; pair < what.pairs; ++pair) {
    double direct_medians = 0;
    double our_medians = 0;
    for (int place = 0; place < 2; ++place) {
      if (what.of_one_thread) processors.trade();
      samples calls;
      samples asks;
      // Taken in turn, so that both see the same machine.
      for (std::size_t i = 0; i < warm_up + what.per_block; ++i) {
        if (i == warm_up) calls = asks = {};
        calls.take(1, call);
        asks.take(1, ask);
      }
      direct_medians += calls.median();
      our_medians += asks.median();
      direct.all.add(calls);
      ours.all.add(asks);
    }
    direct.typical.add(direct_medians / 2);
    ours.typical.add(our_medians / 2);
  }
  const std::string name = "sgemm n=" + std::to_string(n) + " with reply, process";
  const std::string floor = "OpenBLAS called directly";
  out.add({name + ", p50", ours.typical.median(), "us", floor, direct.typical.median()});
  out.add({name + ", p99", ours.all.p99(), "us", floor, direct.all.p99()});
}

void measure_memory(report& out, device gpu) {
  constexpr std::size_t count = 1'000'000;
  const auto begin = clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    if (!gpu.tensor<float>({512, 512})) return;
  }
  const double nanoseconds =
      std::chrono::duration<double, std::nano>(clock::now() - begin).count() / count;
  out.add({"tensor allocation + free, 1 MiB", nanoseconds, "ns"});

  constexpr std::size_t bytes = std::size_t{64} << 20;
  std::vector<float> from(bytes / sizeof(float), 1.0F);
  std::vector<float> to(from.size());
  auto there = gpu.tensor<float>({static_cast<std::int64_t>(from.size())}).value();
  samples plain;
  samples in;
  samples back;
  for (int i = 0; i < 20; ++i) {
    plain.take(1, [&] { std::copy(from.begin(), from.end(), to.begin()); });
    in.take(1, [&] { gpu.copy(std::span(from), there).get(); });
    back.take(1, [&] { gpu.copy(there, std::span(to)).get(); });
  }
  const auto rate = [&](double us) { return static_cast<double>(bytes) / us * 1e6 / (1 << 30); };
  out.add({"copy of 64 MiB from a span to the device", rate(in.median()), "GiB/s", "memcpy",
           rate(plain.median())});
  out.add({"copy of 64 MiB from the device to a span", rate(back.median()), "GiB/s", "memcpy",
           rate(plain.median())});
}

}  // namespace

int main() {
  report out("device: requests to a worker, beside a bare hop to a process");
  const process_hop floor = measure_process_hop();
  troupe::system system;
  device gpu = system.device(0);
  gpu.wait_until_ready().value();
  measure_requests(out, gpu, "process", floor);
  measure_memory(out, gpu);
  measure_gemm(out, gpu, {.n = 64, .pairs = 40, .per_block = 250, .of_one_thread = true});
  measure_gemm(out, gpu, {.n = 512, .pairs = 15, .per_block = 10, .of_one_thread = false});
  gpu.stop();

  device threads = system.device(1, {.isolation = isolation::thread});
  threads.wait_until_ready().value();
  measure_requests(out, threads, "thread", floor);
  return out.finish();
}
