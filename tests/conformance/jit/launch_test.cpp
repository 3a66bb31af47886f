#include "conformance/coverage.hpp"
#include "stage.hpp"

#include <troupe/jit/launch.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace troupe::conformance {
namespace {

using jit::launch;
using jit::reads;
using jit::updates;
using jit::writes;

jit::dims blocks_for(std::int64_t n, std::int64_t threads) {
  return {.x = std::max<std::int64_t>((n + threads - 1) / threads, 1)};
}

template <element T>
std::vector<T> numbers(std::size_t n, int seed) {
  std::vector<T> made(n);
  for (std::size_t i = 0; i < n; ++i)
    made[i] =
        static_cast<T>(static_cast<int>((i * 7919 + static_cast<std::size_t>(seed)) % 1009) - 500);
  return made;
}

TEST(JitLaunch, OfTheCpuBackendSaysWhyThereIsNone) {
  jit_stage s;
  if (s.why_not() != "there is no GPU to run kernels") GTEST_SKIP() << "there is a GPU";
  const auto k = s.unread_kernel();
  const auto done = s.run()(launch{.kernel = k});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::unsupported);
  EXPECT_NE(done.error().message.find("the CPU backend runs no kernels"), std::string::npos);
}

TEST(JitLaunch, IsSeenWhereItWritesBesideItsOperand) {
  const auto write_one_more = [] {
    jit_stage s;
    const std::int64_t stride[] = {1};
    const auto x = s.room<float>(3).as_strided({4}, stride).value();
    s.gpu().library("memory").ask(memory::fill{.to = x, .value = 1}).get();
  };
  EXPECT_NONFATAL_FAILURE(write_one_more(), "wrote outside of its operand");
}

TEST(JitLaunch, EveryKernelOfTheseTestsCompiles) {
  jit_stage s;
  for (const auto& [text, names] :
       std::initializer_list<std::pair<std::string_view, std::vector<std::string>>>{
           {jit_kernels::arithmetic, {"add<float>", "shift<double>"}},
           {jit_kernels::structs, {}},
           {jit_kernels::shared, {}},
           {jit_kernels::clusters, {}},
           {jit_kernels::cooperative, {}},
           {jit_kernels::programmatic, {}},
           {jit_kernels::tiles, {}},
           {jit_kernels::faults, {}}}) {
    const auto made = s.compile(text, names);
    if (!made && made.error().code == errc::library_missing) GTEST_SKIP() << made.error().message;
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(made->log, "");
  }
}

template <element T>
void expect_sums(jit_stage& s, const std::string& type) {
  const auto add = s.kernel(jit_kernels::arithmetic, "add<" + type + ">");
  for (const std::size_t n : {1u, 2u, 255u, 256u, 257u, 100'003u}) {
    const auto a = numbers<T>(n, 1);
    const auto b = numbers<T>(n, 77);
    const auto x = s.filled(a);
    const auto y = s.filled(b);
    const auto z = s.room<T>(static_cast<std::int64_t>(n));
    s.run()(launch{.kernel = add,
                   .grid = blocks_for(static_cast<std::int64_t>(n), 256),
                   .block = {.x = 256},
                   .arguments = {reads(x), reads(y), writes(z), static_cast<std::int32_t>(n)}})
        .value();
    cover("jit.launch", dtype_of<T>);
    cover_layout("jit.launch", true);
    const auto sums = s.content(z);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(sums[i], static_cast<T>(a[i] + b[i])) << i << " of " << n;
  }
}

TEST(JitLaunch, RunsInstantiationsOfATemplate) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  expect_sums<float>(s, "float");
  expect_sums<double>(s, "double");
  expect_sums<std::int32_t>(s, "int");
}

TEST(JitLaunch, IsOrderedByWhatItReadsAndWrites) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto shift = s.kernel(jit_kernels::arithmetic, "shift<float>");
  const auto x = s.filled(std::vector<float>(1000, 0.F));
  // Each in another lane, so nothing but the tensor orders them.
  std::vector<library_actor> lanes;
  lanes.reserve(6);
  for (int i = 0; i < 6; ++i)
    lanes.push_back(s.gpu().library("jit").on_new_lane());
  std::vector<future<void>> all;
  all.reserve(60);
  for (int i = 0; i < 60; ++i) {
    all.push_back(lanes[static_cast<std::size_t>(i) % lanes.size()].ask(
        launch{.kernel = shift,
               .grid = {.x = 4},
               .block = {.x = 256},
               .arguments = {updates(x), static_cast<float>(i), 1000}}));
  }
  for (auto& one : all)
    one.get();
  EXPECT_EQ(s.content(x), std::vector<float>(1000, 59.F * 60 / 2));
}

TEST(JitLaunch, TakesStructsAndWhatTheyPointTo) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  struct rule {
    double factor;
    float offset;
    std::int32_t step;
    const float* table;
  };
  const auto apply = s.kernel(jit_kernels::structs, "apply");
  const auto x = s.filled(numbers<float>(100, 3));
  const auto table = s.filled(std::vector<float>{10, 20, 30});
  const auto y = s.room<double>(100);
  const rule r{.factor = 1.5, .offset = -2, .step = 4, .table = table.data()};
  s.run()(launch{.kernel = apply,
                 .block = {.x = 128},
                 .arguments = {jit::value(r), reads(x), writes(y), 100, jit::also_reads(table)}})
      .value();
  const auto in = numbers<float>(100, 3);
  const auto out = s.content(y);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(out[i],
              1.5 * static_cast<double>(in[i / 4 * 4]) - 2 + static_cast<double>(10 * (i % 3 + 1)));
}

TEST(JitLaunch, AllowsMoreSharedMemoryThan48KiB) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto reversed = s.kernel(jit_kernels::shared, "reversed");
  for (const std::int64_t bytes : {1024, 48 * 1024, 96 * 1024}) {
    const auto n = static_cast<std::size_t>(bytes) / sizeof(float);
    auto in = numbers<float>(n, 5);
    const auto x = s.filled(in);
    const auto y = s.room<float>(static_cast<std::int64_t>(n));
    s.run()(launch{.kernel = reversed,
                   .block = {.x = 256},
                   .shared_bytes = bytes,
                   .arguments = {reads(x), writes(y), static_cast<std::int32_t>(n)}})
        .value();
    std::ranges::reverse(in);
    EXPECT_EQ(s.content(y), in);
  }
  const auto x = s.filled(std::vector<float>{1});
  const auto too_much = s.run()(
      launch{.kernel = reversed, .shared_bytes = 1 << 20, .arguments = {reads(x), updates(x), 1}});
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, errc::invalid_argument);
  EXPECT_NE(too_much.error().message.find("shared_bytes is 1048576"), std::string::npos)
      << too_much.error().message;
}

TEST(JitLaunch, RunsBlocksInClusters) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto ranks = s.kernel(jit_kernels::clusters, "ranks");
  for (const std::uint32_t size : {1u, 2u, 8u, 16u}) {
    const auto rank = s.room<std::uint32_t>(32);
    const auto blocks = s.room<std::uint32_t>(32);
    s.run()(launch{.kernel = ranks,
                   .grid = {.x = 32},
                   .cluster = {.x = size},
                   .arguments = {writes(rank), writes(blocks)}})
        .value();
    EXPECT_EQ(s.content(blocks), std::vector<std::uint32_t>(32, size));
    const auto found = s.content(rank);
    for (std::uint32_t i = 0; i < 32; ++i)
      EXPECT_EQ(found[i], i % size);
  }
}

TEST(JitLaunch, LetsTheBlocksOfAGridWaitForEachOther) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto total = s.kernel(jit_kernels::cooperative, "total");
  const auto in = numbers<std::int32_t>(5000, 9);
  const auto x = s.filled(in);
  const auto part = s.room<std::int32_t>(64);
  const auto sum = s.room<std::int32_t>(1);
  launch r{.kernel = total,
           .grid = {.x = 64},
           .cooperative = true,
           .arguments = {reads(x), writes(part), writes(sum), 5000}};
  for (int round = 0; round < 20; ++round)
    s.run()(r).value();
  EXPECT_EQ(s.content(sum)[0], std::accumulate(in.begin(), in.end(), 0));
  r.grid.x = 1 << 20;  // never at once
  const auto too_many = s.run()(r);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code_name, "cudaErrorCooperativeLaunchTooLarge");
}

TEST(JitLaunch, BeginsBeforeTheOneInFrontHasEndedAndSeesWhatThatWrote) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto first = s.kernel(jit_kernels::programmatic, "slow_first");
  const auto second = s.kernel(jit_kernels::programmatic, "second");
  const auto x = s.room<std::uint32_t>(1);
  const auto y = s.room<std::uint32_t>(1);
  const auto lane = s.gpu().library("jit").on_new_lane();
  for (std::uint32_t i = 0; i < 200; ++i) {
    lane.tell(launch{.kernel = first, .arguments = {writes(x), i, std::int64_t{20'000}}}).value();
    lane.ask(launch{.kernel = second, .programmatic = true, .arguments = {reads(x), writes(y)}})
        .get();
    ASSERT_EQ(s.content(y)[0], i + 1);
  }
}

// ADR 18 gives the conditions under which marks are safe.
TEST(JitLaunch, IsNotAnsweredBeforeTheOneInFrontHasEndedThoughItNeverWaits) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto first = s.kernel(jit_kernels::programmatic, "slow_first");
  const auto second = s.kernel(jit_kernels::programmatic, "second_without_a_word");
  auto x = s.gpu().host_tensor<std::uint32_t>({1}).value();
  const auto y = s.room<std::uint32_t>(1);
  const auto lane = s.gpu().library("jit").on_new_lane();
  for (std::uint32_t i = 1; i <= 200; ++i) {
    lane.tell(launch{.kernel = first, .arguments = {writes(x), i, std::int64_t{200'000}}}).value();
    lane.ask(launch{.kernel = second, .programmatic = true, .arguments = {writes(y)}}).get();
    ASSERT_EQ(*static_cast<const volatile std::uint32_t*>(x.data()), i)
        << "it was answered while the kernel in front still ran";
  }
}

TEST(JitLaunch, CopiesTilesByTensorMaps) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto copy_tile = s.kernel(jit_kernels::tiles, "copy_tile");
  constexpr std::int64_t rows = 40;
  constexpr std::int64_t columns = 64;
  const auto in = numbers<float>(rows * columns, 2);
  const auto x = s.filled(in).reshape({rows, columns}).value();
  const auto out = s.room<float>(8 * 16);
  for (const auto& [row, column] : {std::pair(0, 0), std::pair(5, 16), std::pair(36, 56)}) {
    s.run()(launch{.kernel = copy_tile,
                   .block = {.x = 64},
                   .arguments = {jit::reads_tile(x, {.box = {8, 16}}), writes(out), column, row}})
        .value();
    const auto tile = s.content(out);
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 16; ++j) {
        const bool inside = row + i < rows && column + j < columns;
        const auto from = static_cast<std::size_t>((row + i) * columns + column + j);
        ASSERT_EQ(tile[static_cast<std::size_t>(i * 16 + j)], inside ? in[from] : 0.F)
            << "tile at " << row << ", " << column;
      }
    }
  }
}

TEST(JitLaunch, LoadsPtxAndWhatWasLinked) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto as_text =
      s.compile(jit_kernels::arithmetic, {"shift<float>"}, jit::image_kind::ptx).value();
  const auto pieces =
      s.compile(jit_kernels::arithmetic, {"shift<float>"}, jit::image_kind::lto_ir).value();
  jit::compiler linker({.disk_cache = false});
  const auto linked = linker.link({.pieces = {pieces}, .architecture = pieces.architecture}).get();
  const auto x = s.filled(std::vector<float>{1, 2, 3});
  for (const jit::binary& image : {as_text, linked}) {
    const auto shift = jit::load(s.gpu(), image).value().kernel("shift<float>").value();
    s.run()(launch{.kernel = shift, .block = {.x = 32}, .arguments = {updates(x), 10.F, 3}})
        .value();
  }
  EXPECT_EQ(s.content(x), (std::vector<float>{21, 22, 23}));
  const auto not_linked = jit::load(s.gpu(), pieces);
  ASSERT_FALSE(not_linked);
  EXPECT_EQ(not_linked.error().code, errc::unsupported);
}

TEST(JitLaunch, RefusesOtherArgumentsThanTheKernelHas) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  const auto x = s.filled(std::vector<float>{1, 2, 3});
  const auto refused = [&](const jit::kernel& k, jit::arguments given, errc code,
                           std::string_view words) {
    const auto done = s.run()(launch{.kernel = k, .arguments = std::move(given)});
    ASSERT_FALSE(done) << words;
    EXPECT_EQ(done.error().code, code) << done.error().to_string();
    EXPECT_NE(done.error().message.find(words), std::string::npos) << done.error().to_string();
  };
  const auto shift = s.kernel(jit_kernels::arithmetic, "shift<float>");
  refused(shift, {updates(x), 1.F}, errc::invalid_argument, "takes 3 arguments, 2 are given");
  refused(shift, {updates(x), 1.0, 3}, errc::type_mismatch, "parameter 1 of shift<float> is float");
  refused(shift, {3, 1.F, 3}, errc::type_mismatch, "parameter 0 of shift<float> is float*");
  // The name of this one says nothing; its image does.
  const auto reversed = s.kernel(jit_kernels::shared, "reversed");
  refused(reversed, {reads(x), updates(x)}, errc::invalid_argument,
          "reversed takes 3 arguments, 2 are given");
  refused(reversed, {reads(x), updates(x), 3.0}, errc::invalid_argument,
          "(8 bytes) is given for the 4 bytes of parameter 2");
  refused(reversed, {}, errc::invalid_argument, "reversed takes 3 arguments, 0 are given");
  EXPECT_EQ(s.content(x), (std::vector<float>{1, 2, 3}));
}

TEST(JitLaunch, ThatFaultsIsNamedAndTheNextOneIsRight) {
  jit_stage s;
  TROUPE_NEEDS_A_GPU(s);
  if (!s.has_worker_process()) GTEST_SKIP() << "a fault would end this program";
  troupe::system system;
  device own = system.device(0, {});
  const auto wild = jit::load(own, s.compile(jit_kernels::faults, {}).value())
                        .value()
                        .kernel("wild_write")
                        .value();
  const auto shift = jit::load(own, s.compile(jit_kernels::arithmetic, {"shift<float>"}).value())
                         .value()
                         .kernel("shift<float>")
                         .value();
  auto good = own.tensor<float>({64}).value();
  auto bad = own.tensor<float>({64}).value();
  const std::vector<float> zeros(64);
  own.copy(std::span(zeros), good).get();
  const auto shift_by = [&](float by) {
    return own.ask(
        launch{.kernel = shift, .block = {.x = 64}, .arguments = {updates(good), by, 64}});
  };
  shift_by(1).get();
  const auto fault =
      own.ask(launch{.kernel = wild, .block = {.x = 64}, .arguments = {writes(bad)}}).get_result();
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().code, errc::device_fault);
  EXPECT_NE(fault.error().request.find("wild_write"), std::string::npos)
      << fault.error().to_string();
  // By the next worker, which knows nothing of the module but what the request says.
  shift_by(2).get();
  std::vector<float> back(64);
  own.copy(good, std::span(back)).get();
  EXPECT_EQ(back, std::vector<float>(64, 3.F));
  EXPECT_EQ(own.generation(), 2u);
  const auto tainted = own.copy(bad, std::span(back)).get_result();
  ASSERT_FALSE(tainted);
  EXPECT_EQ(tainted.error().code, errc::tainted_buffer);
  // The image's digest says that it is the same kernel, although it lies in memory of the host.
  const auto again = [&] {
    return own.ask(launch{.kernel = wild, .block = {.x = 64}, .arguments = {writes(bad)}})
        .get_result()
        .error()
        .code;
  };
  EXPECT_EQ(again(), errc::device_fault);
  EXPECT_EQ(again(), errc::poisonous);
  EXPECT_EQ(own.quarantine().size(), 1u);
}

}  // namespace
}  // namespace troupe::conformance
