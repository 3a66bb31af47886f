// A graph gives the bits of the same requests one by one: called, recorded and launched, with fresh
// inputs each time, and while its workers are killed. On a GPU, on threads that stand in for one,
// and on the CPU. TROUPE_KILLS says how many workers are lost.

#include <troupe/blas.hpp>
#include <troupe/elementwise.hpp>
#include <troupe/graph.hpp>
#include <troupe/memory.hpp>
#include <troupe/primitives.hpp>
#include <troupe/rng.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;
using numbers = std::vector<float>;

class GraphEquality : public ::testing::Test {
 protected:
  static constexpr std::int64_t n = 32;
  static constexpr std::size_t matrices = 4;
  using tensors = std::array<any_tensor, matrices>;

  static const char* queues() { return std::getenv("TROUPE_TEST_PLUGIN"); }
  static device_config config() {
    return {.backend = queues() != nullptr ? backend_kind::cpu : backend_kind::automatic,
            .memory_limit_bytes = std::uint64_t{256} << 20,
            .restarts = {.restarts = 1'000'000},
            .backoff = {.initial = 0ns},
            .backend_path = queues() != nullptr ? queues() : ""};
  }

  GraphEquality() {
    for (tensors* all : {&graphs_, &singles_})
      for (any_tensor& one : *all)
        one = gpu_.tensor<float>({n, n}).value();
  }

  numbers drawn() {
    std::uniform_real_distribution<float> some(-1, 1);
    numbers all(n * n);
    for (float& one : all)
      one = some(random_);
    return all;
  }
  numbers content(const any_tensor& t) {
    numbers all(n * n);
    gpu_.copy(t, all).get();
    return all;
  }
  static bool has_equal_bits(const numbers& a, const numbers& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  /// Gives `take` one request on the tensors of `t`: the same for the same numbers.
  template <class Take>
  static void request(std::uint64_t number, const tensors& t, Take&& take) {
    std::minstd_rand random(static_cast<unsigned>(number) + 1);
    const auto below = [&](std::size_t most) { return random() / 7 % most; };
    const std::size_t first = below(matrices);
    const any_tensor& a = t[first];
    const any_tensor& b = t[(first + 1 + below(matrices - 1)) % matrices];
    const std::size_t next = (first + 1) % matrices;
    const any_tensor& c = t[next].same_view(b) ? t[(first + 2) % matrices] : t[next];
    const auto row = [&](const any_tensor& of) {
      const auto i = static_cast<std::int64_t>(below(n));
      return of.slice(0, i, i + 1).value().reshape({n}).value();
    };
    switch (below(queues() != nullptr ? 6 : 15)) {
      case 0:
        return take(blas::gemm{.a = a, .b = b, .c = c, .alpha = 0.25});
      case 1:
        return take(blas::axpy{.x = row(a), .y = row(b), .alpha = 0.5});
      case 2:
        return take(blas::scal{.x = row(a), .alpha = 0.75});
      case 3:
        return take(memory::copy{.from = a, .to = b});
      case 4:
        return take(memory::fill{.to = row(a), .value = 0.125});
      case 5:
        return take(blas::dot{.x = row(a), .y = row(b)});
      case 6:
        return take(blas::gemv{.a = a, .x = row(b), .y = row(c), .alpha = 0.25});
      case 7:
        return take(elementwise::softmax{.x = a, .y = b});
      case 8:
        return take(blas::nrm2{.x = row(a)});
      case 9:
        return take(elementwise::activation{.x = a, .y = b});
      case 10:
        return take(primitives::scan{.x = row(a), .y = row(b), .deterministic = true});
      case 11:
        return take(rng::uniform{.to = a, .from = {.seed = number}});
      case 12:
        return take(primitives::sort{.x = a, .y = b});
      case 13:
        return take(elementwise::map{
            .inputs = {a, b}, .outputs = {c}, .what = elementwise::function::of(2, [](auto x) {
                                                return x[0] * 0.5 + x[1] * x[1];
                                              })});
      default:
        return take(blas::syrk{.a = a, .c = b, .alpha = 0.25});
    }
  }

  system system_;
  device gpu_ = system_.device(0, config());
  std::mt19937_64 random_{11};
  tensors graphs_;
  tensors singles_;
};

TEST_F(GraphEquality, RandomRequestsHaveTheBitsOfTheSameOneByOne) {
  // On a GPU *elementwise* interprets until its kernels are compiled, and is not recorded
  // meanwhile.
  const bool is_gpu = gpu_.description().architecture.starts_with("sm_");
  const int runs = is_gpu ? 40 : 6;
  std::int64_t launches = 0;
  std::int64_t recorded = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const std::uint64_t first = random_();
    const std::uint64_t count = 1 + random_() % 40;
    graph_recorder rec = gpu_.record("random");
    for (std::uint64_t i = 0; i < count; ++i)
      request(first + i, graphs_, [&](const auto& one) { rec.add(one); });
    auto made = std::move(rec).finish();
    ASSERT_TRUE(made) << made.error().to_string();
    for (int run = 0; run < runs; ++run) {
      SCOPED_TRACE(run);
      for (std::size_t k = 0; k < matrices; ++k) {
        const numbers fresh = drawn();
        gpu_.copy(fresh, graphs_[k]).get();
        gpu_.copy(fresh, singles_[k]).get();
      }
      auto done = gpu_.run(*made).get_result();
      ASSERT_TRUE(done) << done.error().to_string();
      for (std::uint64_t i = 0; i < count; ++i) {
        request(first + i, singles_, [&](const auto& one) {
          using R = std::remove_cvref_t<decltype(one)>;
          auto alone = gpu_.ask(one).get_result();
          ASSERT_TRUE(alone) << alone.error().to_string();
          if constexpr (std::same_as<typename R::reply, scalar>) {
            const auto together = done->get(reply_in_graph<scalar>{i, &request_type_of<R>()});
            ASSERT_TRUE(together) << together.error().to_string();
            EXPECT_EQ(together->template as<double>(), alone->template as<double>()) << i;
          }
        });
      }
      for (std::size_t k = 0; k < matrices; ++k) {
        ASSERT_TRUE(has_equal_bits(content(graphs_[k]), content(singles_[k])))
            << "tensor " << k << " of\n"
            << made->json();
      }
    }
    const graph::graph_info how = made->info(gpu_).get();
    launches += how.launches;
    for (const graph::segment& one : how.segments) {
      if (one.is_recorded)
        recorded += one.requests;
      else if (one.why != "it is alone")
        std::cout << one.first << ": " << one.why << '\n';
    }
  }
  EXPECT_GE(launches, queues() != nullptr || is_gpu ? 50 : 0);
  std::cout << recorded << " requests in recorded segments, " << launches << " launches\n";
}

// Also where the GPU finds the failure, in a recording.
TEST_F(GraphEquality, FailsAsItsRequestDoes) {
  if (queues() != nullptr) GTEST_SKIP() << "it has no such request";
  const auto indices = gpu_.tensor<std::int32_t>({4}).value();
  const auto rows = gpu_.tensor<float>({4, n}).value();
  gpu_.ask(memory::fill{.to = graphs_[0], .value = 3}).get();
  graph_recorder rec = gpu_.record("rows");
  rec.add(memory::fill{.to = rows});
  rec.add(elementwise::gather_rows{.table = graphs_[0], .indices = indices, .y = rows});
  rec.add(blas::scal{.x = rows.slice(0, 0, 1).value().reshape({n}).value(), .alpha = 2});
  const request_graph g = std::move(rec).finish().value();
  for (int run = 0; run < 8; ++run) {
    const bool is_good = run % 3 != 2;
    gpu_.ask(memory::fill{.to = indices, .value = is_good ? 1 : n}).get();
    const auto done = gpu_.run(g).get_result();
    ASSERT_EQ(done.has_value(), is_good) << run;
    if (!is_good) {
      EXPECT_NE(done.error().message.find("32"), std::string::npos) << done.error().to_string();
      continue;
    }
    numbers first(n);
    gpu_.copy(rows.slice(0, 0, 1).value(), first).get();
    EXPECT_EQ(first, numbers(n, 6)) << run;
  }
}

TEST_F(GraphEquality, HoldsWhileWorkersAreKilled) {
  const char* const wanted = std::getenv("TROUPE_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 20;
  const any_tensor in = graphs_[0];
  const any_tensor out = graphs_[3];
  graph_recorder rec = gpu_.record("killed");
  rec.add(memory::copy{.from = in, .to = graphs_[1]});
  for (int i = 0; i < 10; ++i) {
    rec.add(blas::gemm{.a = in, .b = graphs_[1], .c = graphs_[2], .alpha = 0.25});
    rec.add(memory::copy{.from = graphs_[2], .to = graphs_[1]});
  }
  rec.add(memory::copy{.from = graphs_[1], .to = out});
  const request_graph g = std::move(rec).finish().value();
  for (int i = 0; i < kills; ++i) {
    const numbers fresh = drawn();
    gpu_.copy(fresh, in).get();
    gpu_.run(g).get();
    const numbers expected = content(out);
    std::vector<future<graph_replies>> runs;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random_() % 3000);
    std::jthread killer([&] {
      std::this_thread::sleep_until(end);
      if (const auto pid = gpu_.worker_pid()) ::kill(*pid, SIGKILL);
    });
    for (int k = 0; k < 6; ++k)
      runs.push_back(gpu_.run(g));
    for (auto& one : runs) {
      const auto done = one.get_result();
      ASSERT_TRUE(done) << const_cast<result<graph_replies>&>(done).error().to_string();
    }
    killer.join();
    gpu_.run(g).get();
    ASSERT_TRUE(has_equal_bits(content(out), expected)) << i;
  }
}

}  // namespace
}  // namespace troupe::test
