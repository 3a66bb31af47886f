// The executors of jit on the CUDA backend, with an emulated driver: their calls, and their earlier
// refusals.

#include "cuda/emulated/jit.hpp"

#include <troupe/device/device.hpp>
#include <troupe/jit/attributes.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <string_view>

namespace troupe::jit {
namespace {

using emulated::state;

const operation_table& operations() {
  static const operation_table table = [] {
    operation_table filled;
    plugin_operations::visit([&](auto& add) { add(filled); });
    return filled;
  }();
  return table;
}

constexpr const char* add_name = "_Z3addIfEvPKT_S2_PS0_i";

class JitExecutor : public testing::Test {
 protected:
  void SetUp() override {
    state() = {};
    state().kernels[add_name] = {.parameters = {{0, 8}, {8, 8}, {16, 8}, {24, 4}},
                                 .run = [](void** p) {
                                   const auto* const a = *static_cast<const float**>(p[0]);
                                   const auto* const b = *static_cast<const float**>(p[1]);
                                   auto* const c = *static_cast<float**>(p[2]);
                                   for (int i = 0; i < *static_cast<const int*>(p[3]); ++i)
                                     c[i] = a[i] + b[i];
                                 }};
    state().kernels["plain"] = {
        .parameters = {{0, 8}, {8, 16}, {24, 1}}, .most_threads = 256, .static_shared_bytes = 1024};
    state().kernels["narrow"] = {.parameters = {}, .most_threads = 256};
    state().kernels["nothing"] = {};
  }

  kernel find(std::string_view name, std::string_view bytes = "an image") {
    std::vector<std::byte> image(64);
    std::memcpy(image.data(),
                "\x7f"
                "ELF",
                4);
    std::memcpy(image.data() + 4, bytes.data(), bytes.size());
    return load(device_, binary{.image = image}).value().kernel(name).value();
  }
  /// As a worker does, which has checked the fields before.
  template <request R>
  result<reply_of<R>> run(const R& r, emulated::emulated_lane& where) {
    const operation* const found = operations().find(request_type_of<R>().id);
    alignas(32) std::array<std::byte, reply_capacity_bytes> reply{};
    auto done = found->run(found->executor, &r, where, reply.data());
    if (!done) return std::move(done).error();
    if constexpr (std::is_void_v<reply_of<R>>) {
      return {};
    } else {
      reply_of<R> made;
      std::memcpy(&made, reply.data(), sizeof(made));
      return made;
    }
  }
  void expect_refused(const launch& r, errc code, std::string_view words) {
    const std::size_t before = state().launches.size();
    const auto done = run(r, lane_);
    ASSERT_FALSE(done) << words;
    EXPECT_EQ(done.error().code, code) << done.error().message;
    EXPECT_NE(done.error().message.find(words), std::string::npos) << done.error().message;
    EXPECT_EQ(state().launches.size(), before) << "it was launched all the same";
  }

  troupe::system system_;
  device device_ =
      system_.device(0, {.isolation = isolation::thread, .backend = backend_kind::cpu});
  emulated::emulated_lane lane_;
};

TEST_F(JitExecutor, LaunchesWithTheArgumentsInTheirOrder) {
  auto a = device_.host_tensor<float>({5}).value();
  auto b = device_.host_tensor<float>({5}).value();
  auto c = device_.host_tensor<float>({5}).value();
  std::iota(a.data(), a.data() + 5, 1.F);
  std::iota(b.data(), b.data() + 5, 10.F);
  const launch r{.kernel = find(add_name),
                 .grid = {.x = 2, .y = 3, .z = 4},
                 .block = {.x = 32, .y = 2},
                 .shared_bytes = 128,
                 .arguments = {reads(a), also_reads(a), reads(b), writes(c), 5}};
  ASSERT_TRUE(validate(r)) << validate(r).error().message;
  const auto done = run(r, lane_);
  ASSERT_TRUE(done) << done.error().message;
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(c.data()[i], static_cast<float>(11 + 2 * i));
  const CUlaunchConfig& how = state().launches.back().config;
  EXPECT_EQ(std::tuple(how.gridDimX, how.gridDimY, how.gridDimZ), std::tuple(2, 3, 4));
  EXPECT_EQ(std::tuple(how.blockDimX, how.blockDimY, how.blockDimZ), std::tuple(32, 2, 1));
  EXPECT_EQ(how.sharedMemBytes, 128u);
  EXPECT_EQ(how.hStream, lane_.stream());
  EXPECT_TRUE(state().launches.back().attributes.empty());
  EXPECT_TRUE(state().raised.empty());
}

TEST_F(JitExecutor, LoadsAnImageOnceForAllLanesAndUnloadsItWithTheLast) {
  const launch r{.kernel = find("nothing")};
  {
    emulated::emulated_lane one;
    emulated::emulated_lane other;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(run(r, one));
      ASSERT_TRUE(run(r, other));
    }
    EXPECT_EQ(state().images_loaded, 1);
    ASSERT_TRUE(run(launch{.kernel = find("nothing", "another image")}, one));
    EXPECT_EQ(state().images_loaded, 2);
    ASSERT_TRUE(run(launch{.kernel = find("nothing")}, one)) << "the same bytes, elsewhere";
    EXPECT_EQ(state().images_loaded, 2);
    state().current = nullptr;  // for a thread that has none
  }
  EXPECT_EQ(state().images_unloaded, 2);
  EXPECT_EQ(state().current, nullptr);
}

TEST_F(JitExecutor, KeepsImagesOfContextsApart) {
  const launch r{.kernel = find("nothing")};
  ASSERT_TRUE(run(r, lane_));
  state().current = reinterpret_cast<CUcontext>(std::uintptr_t{0x101});
  emulated::emulated_lane of_another;
  ASSERT_TRUE(run(r, of_another));
  EXPECT_EQ(state().images_loaded, 2);
}

TEST_F(JitExecutor, RefusesAnotherCountOrSizeThanTheImageSays) {
  const auto t = device_.tensor<float>({4}).value();
  struct sixteen {
    double a, b;
  };
  const kernel plain = find("plain");
  const auto with = [&](arguments given) {
    return launch{.kernel = plain, .arguments = std::move(given)};
  };
  expect_refused(with({}), errc::invalid_argument, "plain takes 3 arguments, 0 are given");
  EXPECT_TRUE(run(with({reads(t), value(sixteen{}), true}), lane_));
  expect_refused(with({}), errc::invalid_argument, "plain takes 3 arguments, 0 are given");
  expect_refused(with({reads(t), value(sixteen{})}), errc::invalid_argument,
                 "plain takes 3 arguments, 2 are given");
  expect_refused(with({reads(t), value(sixteen{}), true, 1}), errc::invalid_argument,
                 "plain takes 3 arguments, 4 are given");
  expect_refused(
      with({reads(t), 1.0, true}), errc::invalid_argument,
      "a number of type f64 (8 bytes) is given for the 16 bytes of parameter 1 of plain");
  expect_refused(with({reads(t), value(sixteen{}), 1}), errc::invalid_argument,
                 "a number of type i32 (4 bytes) is given for the 1 bytes of parameter 2 of plain");
}

TEST_F(JitExecutor, RefusesAnotherTypeThanTheNameSaysAlsoInTheWorker) {
  const auto t = device_.tensor<float>({4}).value();
  const auto d = device_.tensor<double>({4}).value();
  const launch r{.kernel = find(add_name), .arguments = {reads(t), reads(d), writes(t), 4}};
  expect_refused(r, errc::type_mismatch, "parameter 1 of add<float> is float const*");
  const auto in_program = validate(r);
  ASSERT_FALSE(in_program);
  EXPECT_EQ(in_program.error().code, errc::type_mismatch);
}

TEST_F(JitExecutor, AllowsMoreSharedMemoryWhenItIsAskedFor) {
  launch r{.kernel = find("nothing"), .shared_bytes = 49'152};
  ASSERT_TRUE(run(r, lane_));
  EXPECT_TRUE(state().raised.empty());
  r.shared_bytes = 102'400;
  ASSERT_TRUE(run(r, lane_));
  ASSERT_TRUE(run(r, lane_));
  ASSERT_EQ(state().raised.size(), 1u);
  EXPECT_EQ(state().raised[0],
            std::pair(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
  r.shared_bytes = 232'449;
  expect_refused(r, errc::invalid_argument, "shared_bytes is 232449, this GPU has 232448");
}

TEST_F(JitExecutor, RefusesMoreThreadsThanTheKernelTakes) {
  expect_refused({.kernel = find("narrow"), .block = {.x = 257}}, errc::invalid_argument,
                 "block is 257 x 1 x 1, the kernel takes at most 256 threads");
}

TEST_F(JitExecutor, SaysClustersAndCooperationToTheDriver) {
  launch r{.kernel = find("nothing"), .grid = {.x = 32}, .cluster = {.x = 2, .y = 1, .z = 1}};
  ASSERT_TRUE(run(r, lane_));
  ASSERT_EQ(state().launches.back().attributes.size(), 1u);
  EXPECT_EQ(state().launches.back().attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(state().launches.back().attributes[0].value.clusterDim.x, 2u);
  EXPECT_TRUE(state().raised.empty());
  r.cluster.x = 16;
  r.cooperative = true;
  ASSERT_TRUE(run(r, lane_));
  ASSERT_EQ(state().launches.back().attributes.size(), 2u);
  EXPECT_EQ(state().launches.back().attributes[1].id, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  EXPECT_EQ(state().launches.back().attributes[1].value.cooperative, 1);
  ASSERT_EQ(state().raised.size(), 1u);
  EXPECT_EQ(state().raised[0].first, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  r = {.kernel = find("nothing"), .programmatic = true};
  ASSERT_TRUE(run(r, lane_));
  ASSERT_EQ(state().launches.back().attributes.size(), 1u);
  EXPECT_EQ(state().launches.back().attributes[0].id,
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(state().launches.back().attributes[0].value.programmaticStreamSerializationAllowed, 1);
}

TEST_F(JitExecutor, EncodesTilesInnermostFirst) {
  state().kernels["tiled"] = {.parameters = {{0, 128}}, .run = [](void** p) {
                                EXPECT_EQ(static_cast<const CUtensorMap*>(p[0])->opaque[0], 0x71eu);
                              }};
  const auto t = device_.tensor<bf16>({3, 64, 32}).value();
  const launch r{.kernel = find("tiled"),
                 .arguments = {reads_tile(t, {.box = {1, 16, 32}, .steps = {1, 2, 1}})}};
  ASSERT_TRUE(validate(r)) << validate(r).error().message;
  ASSERT_TRUE(run(r, lane_));
  ASSERT_EQ(state().maps.size(), 1u);
  const auto& map = state().maps[0];
  EXPECT_EQ(map.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(map.address, t.address());
  EXPECT_EQ(map.extents, (std::vector<cuuint64_t>{32, 64, 3}));
  EXPECT_EQ(map.strides, (std::vector<cuuint64_t>{64, 4096}));
  EXPECT_EQ(map.box, (std::vector<cuuint32_t>{32, 16, 1}));
  EXPECT_EQ(map.steps, (std::vector<cuuint32_t>{1, 2, 1}));
}

TEST_F(JitExecutor, RefusesAnImageThatWasOverwritten) {
  const kernel k = find("nothing");
  k.image().address()[20] ^= std::byte{1};
  expect_refused({.kernel = k}, errc::invalid_argument, "its memory was overwritten");
  k.image().address()[20] ^= std::byte{1};
  EXPECT_TRUE(run(launch{.kernel = k}, lane_));
}

TEST_F(JitExecutor, SaysWhatTheDriverHasAgainstAnImage) {
  expect_refused({.kernel = find("nothing", "broken")}, errc::library_error,
                 "line 3: no such instruction");
  expect_refused({.kernel = find("missing")}, errc::invalid_argument,
                 "the image has no kernel \"missing\"");
}

TEST_F(JitExecutor, AnswersWhatAKernelIs) {
  const auto about = run(attributes{.kernel = find("plain")}, lane_);
  ASSERT_TRUE(about);
  EXPECT_EQ(about->most_threads, 256);
  EXPECT_EQ(about->registers, 40);
  EXPECT_EQ(about->static_shared_bytes, 1024);
  EXPECT_EQ(about->most_dynamic_shared_bytes, 226 * 1024);
  EXPECT_EQ(about->parameters, 3);
  EXPECT_EQ(about->parameter_bytes, 25);

  const auto room = run(occupancy{.kernel = find("plain"), .block = {.x = 128}}, lane_);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->blocks_per_multiprocessor, 16);
  EXPECT_EQ(room->multiprocessors, 132);
  EXPECT_EQ(room->best_block, 256);
  EXPECT_EQ(room->best_grid, 264);
  EXPECT_EQ(room->largest_cluster, 8);
  EXPECT_EQ(room->clusters, 0);
  const auto clustered =
      run(occupancy{.kernel = find("plain"), .block = {.x = 128}, .cluster = {.x = 2}}, lane_);
  ASSERT_TRUE(clustered);
  EXPECT_EQ(clustered->clusters, 66);
}

}  // namespace
}  // namespace troupe::jit
