// A lane's calls of the driver, with a driver of the test's own.

#include "backend/cuda/context/stream_lane.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

/// The calls of the driver. Memory is an address and a size, on a card that has `card` bytes.
struct {
  std::size_t card = 0;
  std::map<CUdeviceptr, std::size_t> held;
  std::vector<std::string> calls;
  int events = 0;
  bool no_stream = false;

  [[nodiscard]] std::size_t used() const {
    std::size_t all = 0;
    for (const auto& [where, bytes] : held)
      all += bytes;
    return all;
  }
} asked;

CUresult allocate(CUdeviceptr* made, std::size_t bytes, CUstream) {
  asked.calls.push_back("allocate " + std::to_string(bytes));
  if (asked.used() + bytes > asked.card) return CUDA_ERROR_OUT_OF_MEMORY;
  static CUdeviceptr next = 0;
  *made = next += 1 << 20;
  asked.held[*made] = bytes;
  return CUDA_SUCCESS;
}
CUresult give_back(CUdeviceptr one, CUstream) {
  asked.calls.push_back("free " + std::to_string(asked.held.at(one)));
  asked.held.erase(one);
  return CUDA_SUCCESS;
}
CUresult make_stream(CUstream* made, unsigned, int priority) {
  if (asked.no_stream && priority != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = reinterpret_cast<CUstream>(std::uintptr_t{0x100});
  return CUDA_SUCCESS;
}
CUresult make_event(CUevent* made, unsigned) {
  ++asked.events;
  *made = reinterpret_cast<CUevent>(std::uintptr_t{0x200});
  return CUDA_SUCCESS;
}
CUresult end_event(CUevent) {
  --asked.events;
  return CUDA_SUCCESS;
}

const driver& with_little() {
  static const driver made = [] {
    driver d;
    d.cuMemAllocAsync = allocate;
    d.cuMemFreeAsync = give_back;
    d.cuStreamCreateWithPriority = make_stream;
    d.cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
    d.cuCtxGetStreamPriorityRange = [](int* least, int* greatest) {
      *least = 0;
      *greatest = -5;
      return CUDA_SUCCESS;
    };
    d.cuEventCreate = make_event;
    d.cuEventDestroy = end_event;
    d.cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
    d.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
    d.cuStreamWriteValue64 = [](CUstream, CUdeviceptr, cuuint64_t, unsigned) {
      return CUDA_SUCCESS;
    };
    return d;
  }();
  return made;
}

class StreamLane : public testing::Test {
 protected:
  StreamLane() {
    asked = {};
    asked.card = 64 * mebi;
    lane_ = stream_lane::make(with_little(), 0, 132).value();
  }
  std::unique_ptr<accelerator_lane> lane_;
};

TEST_F(StreamLane, GrowsItsWorkspaceByPowersOfTwo) {
  EXPECT_EQ(lane_->workspace(3).value().size(), 3u);
  EXPECT_EQ(lane_->workspace(1000).value().size(), 1000u);
  EXPECT_EQ(lane_->workspace(3 * mebi).value().size(), 3 * mebi);
  EXPECT_EQ(asked.calls,
            (std::vector<std::string>{"allocate 1024", "free 1024", "allocate 4194304"}));
  lane_.reset();
  EXPECT_EQ(asked.used(), 0u);
}

TEST_F(StreamLane, GrowsItsWorkspaceToWhatTheCardHas) {
  asked.card = 80 * mebi;
  ASSERT_TRUE(lane_->workspace(48 * mebi));
  ASSERT_TRUE(lane_->workspace(70 * mebi)) << "not beside the 64 before it, and not 128";
  EXPECT_EQ(asked.used(), 70 * mebi);
  const auto refused = lane_->workspace(81 * mebi);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  ASSERT_TRUE(lane_->workspace(10 * mebi)) << "as before, once one had been refused";
  EXPECT_EQ(asked.used(), 16 * mebi);
}

TEST_F(StreamLane, KeepsNothingOfAStreamForMarksThatCouldNotBeHad) {
  std::uint64_t mark = 0;
  asked.no_stream = true;
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(lane_->mark_aside(&mark, 1));
  asked.no_stream = false;
  EXPECT_TRUE(lane_->mark_aside(&mark, 1));
  lane_.reset();
  EXPECT_EQ(asked.events, 0);
}

}  // namespace
}  // namespace troupe::cuda
