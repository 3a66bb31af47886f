// Which GPU a device gets, and what it says when it gets none. With a driver of the tests' own, so
// that every machine counts as one with the GPUs at hand.

#include "backend/cuda/program/device_check.hpp"
#include "run_program.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using troupe::test::has;
using troupe::test::outcome;

outcome run(const std::string& environment, const std::string& words) {
  return troupe::test::run_program("env -u CUDA_VISIBLE_DEVICES -u TROUPE_BACKEND " + environment +
                                   " " TROUPE_PROBE " " + words);
}

/// On a machine with these devices.
outcome probe(const std::string& devices, const std::string& words, const std::string& more = "") {
  return run("LD_LIBRARY_PATH=" FAKE_CUDA_FOLDER " FAKE_CUDA_DEVICES=" + devices + " " + more,
             words);
}

constexpr const char* second_uuid = "GPU-5f202020-2020-2020-2020-202020202020";

TEST(Choice, IsTheGpuOfTheDevicesNumberUnlessSaidOtherwise) {
  EXPECT_TRUE(has(probe("90:0,90:0", "same"), "0 | Fake 0 | GPU-5f101010-"));
  EXPECT_TRUE(has(probe("90:0,90:0", "1"), std::string("1 | Fake 1 | ") + second_uuid));
}

TEST(Driver, OpensNothingInThePlaceOfAStandardStream) {
  const outcome got = probe("90:0", "same <&-");
  EXPECT_TRUE(has(got, "0 | Fake 0")) << got.text;
}

TEST(Choice, ByUuidOrItsBeginning) {
  EXPECT_TRUE(has(probe("90:0,90:0", second_uuid), "1 | Fake 1"));
  EXPECT_TRUE(has(probe("90:0,90:0", "GPU-5f20"), "1 | Fake 1"));
  const outcome several = probe("90:0,90:0", "GPU-5f");
  EXPECT_TRUE(has(several, "invalid_argument | ")) << several.text;
  EXPECT_TRUE(has(several, second_uuid)) << several.text;
}

TEST(Choice, OfAnyTakesTheOneWithTheMostRoomThatCanBeUsed) {
  EXPECT_TRUE(has(probe("90:0,90:0,90:0", "any"), "2 | Fake 2"));
  EXPECT_TRUE(has(probe("90:0,90:0,80:0", "any"), "1 | Fake 1"));
  EXPECT_TRUE(has(probe("90:0,90:2,80:0", "any"), "0 | Fake 0"));
}

TEST(Choice, OfAnyWhereNoneCanBeUsedSaysWhyOfEach) {
  const outcome cpu = probe("90:2,80:0", "any");
  EXPECT_EQ(cpu.status, 0) << cpu.text;
  EXPECT_TRUE(has(cpu, "0 | CPU | \n")) << cpu.text;
  const outcome none = probe("90:2,80:0", "any", "TROUPE_BACKEND=cuda");
  EXPECT_TRUE(has(none, "device_unavailable | ")) << none.text;
  EXPECT_TRUE(has(none, "none of 2 devices can be used; device 0 ")) << none.text;
  EXPECT_TRUE(has(none, "; device 1 ")) << none.text;
}

TEST(Choice, OfAGpuThatDoesNotExistSaysHowManyThereAre) {
  const outcome got = probe("90:0,90:0", "2", "CUDA_VISIBLE_DEVICES=0,1,9,3");
  EXPECT_EQ(got.status, 1);
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "device 2 does not exist: the driver shows 2")) << got.text;
  EXPECT_TRUE(has(got, "CUDA_VISIBLE_DEVICES is \"0,1,9,3\"")) << got.text;
  EXPECT_TRUE(has(probe("90:0", "-1"), "device -1 does not exist"));
}

TEST(Choice, OfAnUnknownUuidListsThoseThatAreThere) {
  const outcome got = probe("90:0,90:0", "GPU-77");
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "no device has the UUID \"GPU-77\"; there are: GPU-5f101010-")) << got.text;
  EXPECT_TRUE(has(got, second_uuid)) << got.text;
}

TEST(Choice, OfAProhibitedDeviceNamesTheCommandThatOpensIt) {
  const outcome got = probe("90:2", "0");
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "compute mode is prohibited: `nvidia-smi -i GPU-5f1")) << got.text;
}

TEST(Choice, OfAnArchitectureWithoutCodeNamesBothAndTheRemedy) {
  const outcome got = probe("80:0", "0");
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "is of architecture sm_80, this build has code for ")) << got.text;
  EXPECT_TRUE(has(got, "build with -D TROUPE_CUDA_ARCHITECTURES=80")) << got.text;
}

TEST(Choice, WithoutADriverSaysWhatWasTried) {
  // With a driver this has nothing to test.
  const outcome got = run("LD_LIBRARY_PATH=/nowhere", "0");
  if (got.status == 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "libcuda.so.1") || has(got, "cuInit")) << got.text;
}

TEST(Choice, WithADriverThatIsTooOldNamesBothVersions) {
  const outcome got = probe("90:0", "0", "FAKE_CUDA_VERSION=12040");
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "is for CUDA 12.4; this build needs one for CUDA 13.0: install driver 580"))
      << got.text;
}

TEST(Choice, WithADriverThatShowsNothingSaysWhatHidesIt) {
  const outcome got = probe("90:0", "0", "FAKE_CUDA_INIT=100 CUDA_VISIBLE_DEVICES=GPU-nothing");
  EXPECT_TRUE(has(got, "device_unavailable | ")) << got.text;
  EXPECT_TRUE(has(got, "CUDA_ERROR_NO_DEVICE (100)")) << got.text;
  EXPECT_TRUE(has(got, "CUDA_VISIBLE_DEVICES is \"GPU-nothing\"")) << got.text;
}

TEST(Choice, OfADeviceThatRefusesTheWorkerItsContextNamesTheRemedy) {
  // 46: CUDA_ERROR_DEVICE_UNAVAILABLE.
  for (const char* where : {"start", "thread"}) {
    const outcome taken = probe("90:3", std::string("0 ") + where, "FAKE_CUDA_CONTEXT=46");
    EXPECT_TRUE(has(taken, "device_unavailable | ")) << taken.text;
    EXPECT_TRUE(has(taken, "cuDevicePrimaryCtxRetain: cudaErrorDevicesUnavailable (46)"))
        << taken.text;
    EXPECT_TRUE(has(taken, "compute mode is exclusive and another process has it")) << taken.text;
  }
  const outcome full = probe("90:0", "0 start", "FAKE_CUDA_CONTEXT=2");
  EXPECT_TRUE(has(full, "device_unavailable | ")) << full.text;
  EXPECT_TRUE(has(full, "whether its memory is full")) << full.text;
}

TEST(Architectures, RunWhatTheirKindOfCodeAllows) {
  using troupe::cuda::runs_on;
  EXPECT_TRUE(runs_on("90a", 9, 0));
  EXPECT_FALSE(runs_on("90a", 10, 0));
  EXPECT_FALSE(runs_on("90a", 8, 9));
  EXPECT_TRUE(runs_on("80;90a", 8, 6));
  EXPECT_TRUE(runs_on("80", 9, 0));
  EXPECT_FALSE(runs_on("80-real", 9, 0));
  EXPECT_TRUE(runs_on("80-real", 8, 9));
  EXPECT_TRUE(runs_on("80-virtual", 12, 0));
  EXPECT_FALSE(runs_on("90", 8, 9));
  EXPECT_TRUE(runs_on("100f", 10, 3));
  EXPECT_FALSE(runs_on("100f", 12, 0));
  EXPECT_TRUE(runs_on("native", 7, 5));
  EXPECT_FALSE(runs_on("", 9, 0));
}

}  // namespace
