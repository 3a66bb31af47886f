#include "libraries/dnn/cuda/rnn/recorded.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cuda::rnn {
namespace {

constexpr char recordings_key = 0;
constexpr std::size_t most_recordings = 32;

}  // namespace

result<recorded_calls*> recorded_calls::of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&recordings_key);
  if (!place) {
    const auto library = TRY(cudnn_of(where));
    cudaStream_t apart = nullptr;
    TRY(check(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking),
              "cudaStreamCreateWithFlags"));
    place = std::shared_ptr<recorded_calls>(
        new recorded_calls(library, where.stream(), owned<cudaStream_t>(apart)));
  }
  return static_cast<recorded_calls*>(place.get());
}

result<void> recorded_calls::run(call_words words,
                                 const std::function<result<void>(cudaStream_t)>& enqueue) {
  ++uses_;
  entry* const known = find(words);
  if (known == nullptr) {
    remember(std::move(words));
    return enqueue(stream_);
  }
  known->last_use = uses_;
  if (!known->graph && !known->refused) {
    TRY(record(*known, enqueue));
    known->refused = !known->graph;
  }
  // Recording enqueues nothing, whether it succeeds or not.
  return known->graph ? launch(*known) : enqueue(stream_);
}

bool recorded_calls::entry::runs() const noexcept {
  if (!launched || cudaEventQuery(launched.get()) == cudaSuccess) return false;
  (void)cudaGetLastError();  // clears "not ready", which is no error
  return true;
}

recorded_calls::entry* recorded_calls::find(const call_words& words) {
  const auto found = std::ranges::find(entries_, words, &entry::words);
  return found == entries_.end() ? nullptr : &*found;
}

void recorded_calls::remember(call_words words) {
  if (entries_.size() >= most_recordings) {
    const auto oldest = std::ranges::min_element(entries_, {}, &entry::last_use);
    if (oldest->runs()) return;  // a graph must live as long as it runs
    entries_.erase(oldest);
  }
  entries_.push_back({.words = std::move(words), .last_use = uses_});
}

// Leaves the entry without a graph if recording is not possible. \errors of the library, which may
// still be set to the other stream then
result<void> recorded_calls::record(entry& e,
                                    const std::function<result<void>(cudaStream_t)>& enqueue) {
  cudaEvent_t event = nullptr;
  cudaGraph_t native = nullptr;
  cudaGraphExec_t ready = nullptr;
  cudaStream_t const apart = apart_.get();
  bool good = cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess;
  owned<cudaEvent_t> launched(event);
  good = good && cudnnSetStream(library_, apart) == CUDNN_STATUS_SUCCESS;
  if (good && cudaStreamBeginCapture(apart, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    good = enqueue(apart).has_value();
    good = cudaStreamEndCapture(apart, &native) == cudaSuccess && good;
  } else {
    good = false;
  }
  const owned<cudaGraph_t> graph(native);
  good = good && cudaGraphInstantiate(&ready, native, 0) == cudaSuccess;
  if (good) {
    e.graph.reset(ready);
    e.launched = std::move(launched);
  } else {
    (void)cudaGetLastError();  // not the error of a request
  }
  return check(cudnnSetStream(library_, stream_), "cudnnSetStream", stream_);
}

result<void> recorded_calls::launch(entry& e) {
  TRY(check(cudaGraphLaunch(e.graph.get(), stream_), "cudaGraphLaunch"));
  return check(cudaEventRecord(e.launched.get(), stream_), "cudaEventRecord");
}

}  // namespace troupe::cuda::rnn
