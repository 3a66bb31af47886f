#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/turn_timer.hpp"
#include "backend/lru_cache.hpp"
#include "backend/operation_of.hpp"
#include "libraries/dnn/cuda/convolution.hpp"
#include "libraries/dnn/cuda/convolution/convolution_case.hpp"
#include "libraries/dnn/cuda/graph/graph_case.hpp"
#include "libraries/dnn/cuda/plan/staging.hpp"
#include "libraries/dnn/cuda/planned.hpp"
#include "libraries/dnn/shared/graph/known_graphs.hpp"

#include <memory>
#include <utility>

namespace troupe::cuda {
namespace {

// The operations that run the pieces. Set once, while the plugin is loaded.
operation_of<blaslt::matmul> run_matmul;
operation_of<blas::gemm> run_gemm;
operation_of<blas::gemm_strided_batched> run_gemm_batch;
operation_of<elementwise::rows> run_rows;
const plugin_operations finds_pieces([](operation_table& table) {
  run_matmul.find_in(table);
  run_gemm.find_in(table);
  run_gemm_batch.find_in(table);
  run_rows.find_in(table);
});

result<void> run_piece(const blaslt::matmul& r, lane& where) { return run_matmul(r, where); }
result<void> run_piece(const blas::gemm& r, lane& where) { return run_gemm(r, where); }
result<void> run_piece(const blas::gemm_strided_batched& r, lane& where) {
  return run_gemm_batch(r, where);
}
result<void> run_piece(const elementwise::map& r, lane& where) { return enqueue_map(r, where); }
result<void> run_piece(const elementwise::rows& r, lane& where) { return run_rows(r, where); }
result<void> run_piece(const dnn::convolution_forward& r, lane& where) {
  return run_convolution(r, where);
}

/// Memory of a lane for the values between pieces. It is separate from the workspace, which belongs
/// to the running piece. It comes and goes in stream order.
class graph_room {
 public:
  explicit graph_room(cudaStream_t stream) noexcept : stream_(stream) {}
  ~graph_room() {
    if (first_ != nullptr) (void)cudaFreeAsync(first_, stream_);
  }
  graph_room(const graph_room&) = delete;
  graph_room& operator=(const graph_room&) = delete;

  [[nodiscard]] result<void> allocate(std::size_t bytes) {
    void* made = nullptr;
    TRY(check(cudaMallocAsync(&made, bytes, stream_), "cudaMallocAsync"));
    first_ = static_cast<std::byte*>(made);
    bytes_ = bytes;
    return {};
  }
  [[nodiscard]] std::byte* first() const noexcept { return first_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  cudaStream_t stream_;
  std::byte* first_ = nullptr;
  std::size_t bytes_ = 0;
};
constexpr char attachment_key = 0;

// Recordings keep the room that they use, so a larger one is another.
result<std::byte*> room_of(lane& where, std::int64_t bytes) {
  const auto needed = static_cast<std::size_t>(bytes);
  std::shared_ptr<void>& attached = where.attachment(&attachment_key);
  if (!attached || static_cast<graph_room*>(attached.get())->bytes() < needed) {
    attached.reset();
    auto made = std::make_shared<graph_room>(where.stream());
    TRY(made->allocate(needed));
    attached = std::move(made);
  }
  where.retain(attached);
  return static_cast<graph_room*>(attached.get())->first();
}

/// For each graph of a lane that has a plan: whether the pieces (the first way) or the plan is
/// faster.
using known_turns = lru_cache<plan_words, turn_timer, plan_words_hash>;
constexpr char turns_key = 0;

turn_timer& turns_of(lane& where, const plan_words& key) {
  std::shared_ptr<void>& attached = where.attachment(&turns_key);
  if (!attached) attached = std::make_shared<known_turns>(plan_service::most_plans);
  auto& known = *static_cast<known_turns*>(attached.get());
  turn_timer* const found = known.find(key);
  return found != nullptr ? *found : known.add(key, turn_timer());
}

/// True if a plan may be faster than these pieces. A single piece is as fast as a plan. Plans hold
/// one product or convolution.
bool wants_plan(const dnn::graph& r, const dnn::lowered_graph& pieces) noexcept {
  return r.engine == dnn::graph_engine::plan || (r.engine == dnn::graph_engine::automatic &&
                                                 pieces.pieces.size() > 1 && pieces.heavy == 1);
}

/// Uses any aligned address for the temporary memory: plans depend on the alignment only.
dnn::graph_memory memory_before(const dnn::graph& r) noexcept {
  dnn::graph_memory memory(r);
  constexpr std::uintptr_t aligned = 256;
  memory.first[dnn::graph_memory::room] = reinterpret_cast<std::byte*>(aligned);
  return memory;
}

// Convolution pieces need plans, too, unless the request asks for the graph's own plan only.
bool prepare(const dnn::graph& r, const std::shared_ptr<kept_blobs>& blobs) {
  auto found = dnn::lowered(r, dnn::products::with_epilogues);
  if (!found) return true;
  auto service = plan_service::of_current_context();
  if (!service) return true;
  thread_local plan_words key;
  if (wants_plan(r, **found)) {
    if (auto what = graph_case::of(r)) {
      what->write(key);
      if (r.engine == dnn::graph_engine::plan)
        return (*service)->prepare(key, blobs, [&] { return what->graphs(); });
      (void)(*service)->find_ready(key, blobs, [&] { return what->graphs(); });
    }
    if (r.engine == dnn::graph_engine::plan) return true;
  }
  const dnn::graph_memory memory = memory_before(r);
  bool ready = true;
  for (const dnn::piece& one : (*found)->pieces) {
    if (!std::holds_alternative<dnn::convolution_forward>(one)) continue;
    const dnn::piece here = dnn::placed(one, memory);
    const convolution_case what(std::get<dnn::convolution_forward>(here));
    if (what.empty()) continue;
    what.write(key);
    ready = (*service)->prepare(key, blobs, [&] { return what.graphs(); }) && ready;
  }
  return ready;
}

result<dnn::graph_run> run_plan(graph_case& what, compiled_plan& plan, lane& where) {
  call_frame c(where);
  c.share(std::max<std::size_t>(plan.workspace_bytes(), 1));
  TRY(c.begin());
  const auto library = TRY(cudnn_of(where));
  const auto operands = what.operands();
  TRY(plan.run(library, operands, c.shared(), where.stream()));
  return dnn::graph_run{.pieces = 1, .by = "cudnn " + plan.engine()};
}

result<dnn::graph_run> run_pieces(const dnn::graph& r, const dnn::lowered_graph& what,
                                  lane& where) {
  dnn::graph_memory memory(r);
  if (what.room_bytes > 0) {
    memory.first[dnn::graph_memory::room] = TRY(room_of(where, what.room_bytes));
  }
  for (const dnn::piece& one : what.pieces) {
    const dnn::piece here = dnn::placed(one, memory);
    TRY(std::visit([&](const auto& request) { return run_piece(request, where); }, here));
  }
  return dnn::graph_run{.pieces = std::ssize(what.pieces), .by = what.by};
}

result<dnn::graph_run> run_faster(const dnn::graph& r, const dnn::lowered_graph& pieces,
                                  graph_case& what, compiled_plan& plan, turn_timer& turns,
                                  lane& where) {
  if (!turns.decided()) {
    // Its events would be a part of a recording.
    if (where.is_recording()) return run_pieces(r, pieces, where);
    where.note_provisional();
  }
  dnn::graph_run made;
  const auto run = [&](turn_timer::way way) -> result<void> {
    made = TRY(way == turn_timer::way::first ? run_pieces(r, pieces, where)
                                             : run_plan(what, plan, where));
    return {};
  };
  TRY(turns.run(where.stream(), run));
  return made;
}

result<dnn::graph_run> run_graph(const dnn::graph& r, lane& where) {
  const auto found = TRY(dnn::lowered(r, dnn::products::with_epilogues));
  if (!wants_plan(r, *found)) return run_pieces(r, *found, where);
  const bool only_plan = r.engine == dnn::graph_engine::plan;
  auto what = graph_case::of(r);
  if (!what && only_plan) {
    return error{.code = errc::unsupported,
                 .message =
                     "not offered: a plan is for one product or convolution of inputs and "
                     "functions of "
                     "the elements of its result; the computation is " +
                     r.what.to_string()};
  }
  if (what) {
    const auto service = TRY(plan_service::of_current_context());
    thread_local plan_words key;
    what->write(key);
    if (only_plan) {
      const auto plan = TRY(service->find(key, where.blobs(), [&] { return what->graphs(); }));
      where.retain(plan);
      return run_plan(*what, *plan, where);
    }
    if (const auto plan = service->find_ready(key, where.blobs(), [&] { return what->graphs(); })) {
      where.retain(plan);
      return run_faster(r, *found, *what, *plan, turns_of(where, key), where);
    }
    if (!service->prepare(key, where.blobs(), [&] { return what->graphs(); }))
      where.note_provisional();
  }
  return run_pieces(r, *found, where);
}

const plugin_operations graph_operations([](operation_table& table) {
  table.insert(
      {.type = &request_type_of<dnn::graph>(),
       .run = [](void*, const void* r, lane_context& where, std::byte* reply) -> result<void> {
         auto done = TRY(run_graph(*static_cast<const dnn::graph*>(r), static_cast<lane&>(where)));
         *reinterpret_cast<dnn::graph_run*>(reply) = std::move(done);
         return {};
       },
       .prepared =
           [](const void* r, const std::shared_ptr<kept_blobs>& blobs) noexcept {
             // The executor reports any error.
             try {
               return prepare(*static_cast<const dnn::graph*>(r), blobs);
             } catch (...) {
               return true;
             }
           }});
});

}  // namespace
}  // namespace troupe::cuda
