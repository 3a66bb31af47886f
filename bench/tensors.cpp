// Contractions on the CPU backend beside the OpenBLAS product that each reduces to, without the
// copies that it needs.

#include "libraries/blas/openblas/openblas.hpp"
#include "placement.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/tensors.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;

struct contraction {
  std::string modes;
  std::vector<std::int64_t> a, b, d;
  std::int64_t count, m, n, k;  ///< the same as packed products
};

const contraction contractions[] = {
    {"ik,kj->ij", {512, 512}, {512, 512}, {512, 512}, 1, 512, 512, 512},
    {"bqhd,bkhd->bhqk", {4, 128, 8, 64}, {4, 128, 8, 64}, {4, 8, 128, 128}, 32, 128, 128, 64},
    {"bhqk,bkhd->bqhd", {4, 8, 128, 128}, {4, 128, 8, 64}, {4, 128, 8, 64}, 32, 128, 64, 128},
    {"bsd,dhe->bshe", {4, 128, 512}, {512, 8, 64}, {4, 128, 8, 64}, 1, 512, 512, 512},
    {"iqrs,qj->ijrs", {16, 32, 32, 32}, {32, 16}, {16, 16, 32, 32}, 1, 16384, 16, 32},
    {"ijab,klij->klab", {12, 12, 24, 24}, {12, 12, 12, 12}, {12, 12, 24, 24}, 1, 144, 576, 144},
    {"ikac,kjcb->ijab", {12, 12, 24, 24}, {12, 12, 24, 24}, {12, 12, 24, 24}, 1, 288, 288, 288},
    {"abc,cbd->ad", {64, 32, 32}, {32, 32, 64}, {64, 64}, 1, 64, 64, 1024},
};

class bench_of_contraction {
 public:
  bench_of_contraction(report& out, device cpu, const contraction& c)
      : out_(out), c_(c), lane_(cpu.library("tensors")) {
    const auto make = [&](const std::vector<std::int64_t>& size) {
      any_tensor made =
          cpu.allocate(dtype::f32, shape(std::span<const std::int64_t>(size))).value();
      const std::vector<float> ones(static_cast<std::size_t>(made.count()), 1.0F);
      cpu.copy(std::span<const float>(ones), made).get();
      return made;
    };
    request_ = {.modes = c.modes, .a = make(c.a), .b = make(c.b), .d = make(c.d)};
    raw_a_.assign(static_cast<std::size_t>(c.count * c.m * c.k), 1.0F);
    raw_b_.assign(static_cast<std::size_t>(c.count * c.k * c.n), 1.0F);
    raw_d_.assign(static_cast<std::size_t>(c.count * c.m * c.n), 0.0F);
  }

  void run() {
    const auto theirs = [&] {
      for (std::int64_t i = 0; i < c_.count; ++i) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, c_.m, c_.n, c_.k, 1.0F,
                    raw_a_.data() + i * c_.m * c_.k, c_.k, raw_b_.data() + i * c_.k * c_.n, c_.n,
                    0.0F, raw_d_.data() + i * c_.m * c_.n, c_.n);
      }
    };
    const auto ours = [&] { lane_.ask(request_).get(); };
    constexpr int turns = 12;
    constexpr std::size_t loop = 20;
    samples direct;
    samples own;
    samples quotients;
    bench::placement processors;
    ours();
    theirs();
    for (int turn = 0; turn < turns; ++turn) {
      processors.trade();
      samples calls;
      samples asks;
      if (turn % 2 == 0) calls.take(loop, theirs);
      asks.take(loop, ours);
      if (turn % 2 != 0) calls.take(loop, theirs);
      quotients.add(asks.median() / calls.median());
      direct.add(calls);
      own.add(asks);
    }
    out_.add({c_.modes + ", f32",
              own.middle(),
              "us",
              "OpenBLAS, without copies",
              direct.middle(),
              {},
              quotients.middle()});
  }

 private:
  report& out_;
  const contraction& c_;
  tensors::contract request_;
  library_actor lane_;
  std::vector<float> raw_a_, raw_b_, raw_d_;
};

}  // namespace

int main() {
  report out("tensors: contractions on the CPU backend, beside OpenBLAS called directly");
  ::openblas_set_num_threads(1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  troupe::system system;
  const device cpu = system.device(0, {.backend = backend_kind::cpu});
  cpu.wait_until_ready().value();
  for (const contraction& c : contractions)
    bench_of_contraction(out, cpu, c).run();
  return out.finish();
}
