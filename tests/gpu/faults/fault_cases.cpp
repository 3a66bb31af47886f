#include "fault_cases.hpp"

#include "gpu/card.hpp"
#include "graph_cases.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blaslt/matmul.hpp>
#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/graph.hpp>
#include <troupe/dnn/pooling.hpp>
#include <troupe/dnn/rnn.hpp>
#include <troupe/elementwise/indexing.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/jit/compiler.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/rng/bits.hpp>
#include <troupe/rng/continuous.hpp>
#include <troupe/solver/qr.hpp>
#include <troupe/solver/svd.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/sparse/sparse_products.hpp>
#include <troupe/sparse/structured.hpp>
#include <troupe/tensors/contract.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <vector>

namespace troupe::gpu_test {
namespace {

using fault::kind;

// Only where kernels run.
constexpr fault_case of_kernels[] = {
    {.name = "unmapped_address", .kind = kind::unmapped_address},
    {.name = "misaligned_address", .kind = kind::misaligned_address, .may_pass_as_done = true},
    {.name = "failed_assertion", .kind = kind::failed_assertion},
    {.name = "invalid_launch",
     .kind = kind::invalid_launch,
     .ends_worker = false,
     .code = errc::library_error},
};

constexpr fault_case of_all[] = {
    // Faults of the worker's own code, which includes a library's.
    {.name = "segmentation_fault", .kind = kind::segmentation_fault},
    {.name = "abort", .kind = kind::abort},
    {.name = "exit", .kind = kind::exit},
    {.name = "exception",
     .kind = kind::exception,
     .ends_worker = false,
     .code = errc::handler_failed},
    {.name = "write_frozen", .kind = kind::write_frozen},
    {.name = "trap", .kind = kind::trap},
    {.name = "stack_overflow", .kind = kind::stack_overflow},
    {.name = "hang", .kind = kind::hang},
    {.name = "out_of_memory",
     .kind = kind::out_of_memory,
     .ends_worker = false,
     .code = errc::out_of_memory},
    {.name = "killed_busy", .way = way::worker_signal, .signal = SIGKILL},
    {.name = "killed_idle", .way = way::worker_signal, .signal = SIGKILL, .busy = false},
    {.name = "crashed_busy", .way = way::worker_signal, .signal = SIGSEGV},
    {.name = "crashed_idle", .way = way::worker_signal, .signal = SIGSEGV, .busy = false},
    {.name = "stopped_busy", .way = way::worker_signal, .signal = SIGSTOP},
    {.name = "stopped_idle", .way = way::worker_signal, .signal = SIGSTOP, .busy = false},
    {.name = "standby_killed", .way = way::standby_signal, .signal = SIGKILL, .ends_worker = false},
};

// In the library's own code or kernels, which nothing here has a hand in.
constexpr library_request scal{blas::scal::name, dtype::f32,
                               [](device&, const library_actor& where, const any_tensor& operand) {
                                 return where.ask(blas::scal{.x = operand, .alpha = 2});
                               }};
constexpr library_request c2c{fft::c2c::name, dtype::c64,
                              [](device&, const library_actor& where, const any_tensor& operand) {
                                return where.ask(fft::c2c{.in = operand, .out = operand});
                              }};
constexpr library_request uniform{
    rng::uniform::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(rng::uniform{.to = operand});
    }};
constexpr library_request xorwow_bits{
    rng::bits::name, dtype::u32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(rng::bits{.to = operand, .from = {.type = rng::generator_type::xorwow}});
    }};

/// The tensor that begins behind `before` elements of the operand. It lies elsewhere in an operand
/// of another length, so that it is part of another request.
any_tensor part_of(const any_tensor& operand, std::int64_t before, const shape& extents) {
  constexpr std::int64_t step = 64;
  const std::int64_t begin = operand.count() % 1024 * step + before;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents.extents())
    count *= extent;
  return operand.slice(0, begin, begin + count).value().reshape(extents).value();
}

constexpr std::int64_t side = 64;
constexpr std::int64_t square = side * side;

constexpr library_request matmul{
    blaslt::matmul::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      const auto part = [&](std::int64_t i) { return part_of(operand, i * square, {side, side}); };
      return where.ask(blaslt::matmul{.a = part(0), .b = part(1), .d = part(2)});
    }};

// Plans of cuDNN.
constexpr library_request convolution{
    dnn::convolution_forward::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(dnn::convolution_forward{.x = part_of(operand, 0, {1, 16, 16, 16}),
                                                .w = part_of(operand, square, {16, 16, 3, 3}),
                                                .y = part_of(operand, 2 * square, {1, 16, 16, 16}),
                                                .padding = {1}});
    }};
constexpr library_request attention{
    dnn::attention_forward::name, dtype::f16,
    [](device&, const library_actor& where, const any_tensor& operand) {
      const auto part = [&](std::int64_t i) {
        return part_of(operand, i * square, {1, 1, side, side});
      };
      return where.ask(
          dnn::attention_forward{.q = part(0), .k = part(1), .v = part(2), .o = part(3)});
    }};
constexpr library_request recurrent{
    dnn::rnn_forward::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      static const dnn::rnn_network network{.hidden = 16};
      return where.ask(dnn::rnn_forward{
          .x = part_of(operand, 0, {8, 4, 16}),
          .weights = part_of(operand, square, {dnn::rnn_weight_count(network, 16)}),
          .y = part_of(operand, 2 * square, {8, 4, 16}),
          .network = network});
    }};
constexpr library_request graph{
    dnn::graph::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      static const auto layer = dnn::computation::of(
          3, [](auto x) { return dnn::nodes::relu(dnn::nodes::matmul(x[0], x[1]) + x[2]); });
      const auto part = [&](std::int64_t i) { return part_of(operand, i * square, {side, side}); };
      return where
          .ask(dnn::graph{
              .inputs = {part(0), part(1), part(2)}, .outputs = {part(3)}, .what = layer})
          .then([](const dnn::graph_run&) {});
    }};
// Kernels of dnn's own.
constexpr library_request pooling{
    dnn::max_pool_forward::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(dnn::max_pool_forward{.x = part_of(operand, 0, {1, 16, 16, 16}),
                                             .y = part_of(operand, square, {1, 16, 8, 8}),
                                             .window = {2}});
    }};
constexpr library_request batch_norm{
    dnn::batch_norm_training::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(dnn::batch_norm_training{.x = part_of(operand, 0, {1, 16, 16, 16}),
                                                .y = part_of(operand, square, {1, 16, 16, 16}),
                                                .mean = part_of(operand, 2 * square, {16}),
                                                .rstd = part_of(operand, 2 * square + side, {16})});
    }};

// Two calls of cuSOLVER: one returns at once, and one waits for its kernels.
constexpr library_request geqrf{
    solver::geqrf::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(solver::geqrf{.a = part_of(operand, 0, {side, side}),
                                     .qr = part_of(operand, square, {side, side}),
                                     .tau = part_of(operand, 2 * square, {side})});
    }};
constexpr library_request svd{
    solver::svd::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(solver::svd{.a = part_of(operand, 0, {side, side}),
                                   .s = part_of(operand, square, {side}),
                                   .vectors = solver::singular_vectors::none});
    }};

// Sparse products whose patterns are sound: by kernels of the project and by cuSPARSE, and one that
// waits for its kernels. All elements are in the first row.
sparse_matrix first_row_of(device& gpu, const any_tensor& indices, const any_tensor& values) {
  std::vector<std::int32_t> begins(side + 1, static_cast<std::int32_t>(values.count()));
  begins.front() = 0;
  auto offsets = gpu.tensor<std::int32_t>({side + 1}).value();
  gpu.copy(std::span<const std::int32_t>(begins), offsets).get();
  return sparse_matrix::csr(side, offsets, indices, values);
}
constexpr library_request csr_spmv{
    sparse::spmv::name, dtype::f32,
    [](device& gpu, const library_actor& where, const any_tensor& operand) {
      const auto indices = gpu.tensor<std::int32_t>({side}, initial::zero).value();
      return where.ask(sparse::spmv{.a = first_row_of(gpu, indices, part_of(operand, 0, {side})),
                                    .x = part_of(operand, side, {side}),
                                    .y = part_of(operand, 2 * side, {side})});
    }};
constexpr library_request coo_spmv{
    sparse::spmv::name, dtype::f32,
    [](device& gpu, const library_actor& where, const any_tensor& operand) {
      const auto places = gpu.tensor<std::int32_t>({side}, initial::zero).value();
      // Not packed, so that cuSPARSE gets a copy: its first call clears y, and would refuse memory
      // that is lost before any kernel runs.
      const any_tensor y = part_of(operand, 2 * side, {2 * side})
                               .as_strided({side}, std::array<std::int64_t, 1>{2})
                               .value();
      return where.ask(sparse::spmv{
          .a = sparse_matrix::coo(side, side, places, places, part_of(operand, 0, {side})),
          .x = part_of(operand, side, {side}),
          .y = y});
    }};
constexpr library_request spgemm{
    sparse::spgemm::name, dtype::i32,
    [](device& gpu, const library_actor& where, const any_tensor& operand) {
      const auto values = gpu.tensor<float>({side}, initial::zero).value();
      const sparse_matrix a = first_row_of(gpu, part_of(operand, 0, {side}), values);
      const auto made = gpu.tensor<float>({side}).value();
      const sparse_matrix room = sparse_matrix::csr(side, part_of(operand, side, {side + 1}),
                                                    part_of(operand, 3 * side, {side}), made);
      return where.ask(sparse::spgemm{.a = a, .b = a, .c = room}).then([](std::int64_t) {});
    }};
constexpr library_request structured_matmul{
    sparse::structured_matmul::name, dtype::f16,
    [](device& gpu, const library_actor& where, const any_tensor& operand) {
      const auto weights = gpu.allocate(dtype::f16, {side, side}, initial::zero).value();
      const auto compressed =
          gpu.tensor<std::uint8_t>({sparse::structured_bytes(side, side, 2)}).value();
      gpu.ask(sparse::structured_compress{.x = weights, .compressed = compressed}).get();
      return where.ask(sparse::structured_matmul{.a = part_of(operand, 0, {side, side}),
                                                 .b = weights.transpose(),
                                                 .compressed = compressed,
                                                 .d = part_of(operand, square, {side, side})});
    }};

constexpr library_request contract{
    tensors::contract::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      const auto part = [&](std::int64_t i) { return part_of(operand, i * square, {side, side}); };
      return where.ask(
          tensors::contract{.modes = "ik,kj->ij", .a = part(0), .b = part(1), .d = part(2)});
    }};

// A function of one's own, compiled or interpreted.
constexpr library_request map{
    elementwise::map::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      static const auto twice = elementwise::function::of(1, [](auto x) { return 2 * x[0]; });
      return where.ask(elementwise::map{.inputs = {operand}, .outputs = {operand}, .what = twice});
    }};
// Indices out of range are refused. Only the memory of the rows can be at fault.
constexpr library_request gather_rows{
    elementwise::gather_rows::name, dtype::i32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      return where.ask(elementwise::gather_rows{.table = part_of(operand, 0, {side, side}),
                                                .indices = part_of(operand, square, {side}),
                                                .y = part_of(operand, 2 * square, {side, side})});
    }};
// Programs have no loops. Many elements take long: a vector, again and again.
constexpr library_request long_reduction{
    elementwise::reduce::name, dtype::f32,
    [](device&, const library_actor& where, const any_tensor& operand) {
      constexpr std::int64_t times = 1 << 15;
      static const auto sines = elementwise::function::of(1, [](auto x) {
        elementwise::value made = x[0];
        for (int i = 0; i < 64; ++i)
          made = sin(made);
        return made;
      });
      const any_tensor vector = operand.slice(0, 1, operand.count()).value();
      const any_tensor repeated =
          vector.as_strided({times, vector.count()}, std::array<std::int64_t, 2>{0, 1}).value();
      return where.ask(
          elementwise::reduce{.inputs = {repeated},
                              .outputs = {operand.slice(0, 0, 1).value().reshape({}).value()},
                              .before = sines},
          {.run_limit = hang_limit});
    }};

// A kernel of the user's own, whose pointer is the one that has gone bad.
future<void> launch_own_kernel(device& gpu, const library_actor& where, const any_tensor& operand) {
  static const jit::kernel add_one = [&] {
    jit::compiler compiler({.disk_cache = false});
    const auto made = compiler
                          .compile({.text = "template <class T> __global__ void add_one(T* x) "
                                            "{ x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }",
                                    .names = {"add_one<float>"},
                                    .architecture = jit::architecture_of(gpu).value()})
                          .get();
    return jit::load(gpu, made).value().kernel("add_one<float>").value();
  }();
  return where.ask(jit::launch{.kernel = add_one,
                               .grid = {.x = 16},
                               .block = {.x = 256},
                               .arguments = {jit::updates(operand)}});
}
constexpr library_request own_kernel{jit::launch::name, dtype::f32, launch_own_kernel};

constexpr fault_case in_own_kernel{.name = "in_jit", .way = way::library, .library = &own_kernel};

constexpr fault_case of_libraries[] = {
    {.name = "in_blas", .way = way::library, .library = &scal},
    {.name = "in_blaslt", .way = way::library, .library = &matmul},
    {.name = "in_fft", .way = way::library, .library = &c2c},
    {.name = "in_rng", .way = way::library, .library = &uniform},
    {.name = "in_rng_xorwow", .way = way::library, .library = &xorwow_bits},
    {.name = "in_elementwise", .way = way::library, .library = &map},
    {.name = "in_gather_rows", .way = way::library, .library = &gather_rows},
    {.name = "in_convolution", .way = way::library, .library = &convolution},
    {.name = "in_attention", .way = way::library, .library = &attention},
    {.name = "in_rnn", .way = way::library, .library = &recurrent},
    {.name = "in_graph", .way = way::library, .library = &graph},
    {.name = "in_pooling", .way = way::library, .library = &pooling},
    {.name = "in_batch_norm", .way = way::library, .library = &batch_norm},
    {.name = "in_solver", .way = way::library, .library = &geqrf},
    {.name = "in_blocking_solver", .way = way::library, .library = &svd},
    {.name = "in_sparse", .way = way::library, .library = &csr_spmv},
    {.name = "in_cusparse", .way = way::library, .library = &coo_spmv},
    {.name = "in_blocking_sparse", .way = way::library, .library = &spgemm},
    {.name = "in_structured", .way = way::library, .library = &structured_matmul},
    {.name = "in_tensors", .way = way::library, .library = &contract},
    {.name = "long_elementwise", .way = way::long_request, .library = &long_reduction},
};

// Made of a request whose kind depends on the backend.
std::vector<fault_case> composed(kind usual) {
  return {{.name = "during_recovery", .way = way::recovery, .kind = usual},
          {.name = "poison", .way = way::poison, .kind = usual},
          {.name = "two_tenants", .way = way::neighbour, .kind = usual}};
}

std::vector<fault_case> all_of(backend_kind backend) {
  const bool has_kernels = backend == backend_kind::cuda;
  std::vector<fault_case> all;
  if (has_kernels) all.assign(std::begin(of_kernels), std::end(of_kernels));
  all.insert(all.end(), std::begin(of_all), std::end(of_all));
  // The stand-in for a GPU has no libraries.
  if (plugin_under_test().empty()) {
    all.insert(all.end(), std::begin(of_libraries), std::end(of_libraries));
    if (has_kernels) all.push_back(in_own_kernel);
    all.insert(all.end(), cases_in_graphs().begin(), cases_in_graphs().end());
  }
  const std::vector<fault_case> more =
      composed(has_kernels ? kind::unmapped_address : kind::segmentation_fault);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace

std::span<const fault_case> cases_of(backend_kind backend) {
  static const std::vector<fault_case> cuda = all_of(backend_kind::cuda);
  static const std::vector<fault_case> cpu = all_of(backend_kind::cpu);
  return backend == backend_kind::cuda ? cuda : cpu;
}

const fault_case* find_case(backend_kind backend, std::string_view name) {
  const std::span<const fault_case> all = cases_of(backend);
  const auto found = std::ranges::find(all, name, &fault_case::name);
  return found == all.end() ? nullptr : &*found;
}

std::string plugin_under_test() {
  const char* const path = std::getenv("TROUPE_TEST_PLUGIN");
  return path != nullptr ? path : "";
}

backend_kind backend_under_test() {
  if (!plugin_under_test().empty()) return backend_kind::cuda;
  const char* const text = std::getenv("TROUPE_BACKEND");
  const std::string_view wanted(text != nullptr ? text : "");
  if (wanted == "cuda") return backend_kind::cuda;
  if (wanted == "cpu") return backend_kind::cpu;
  return read_card() ? backend_kind::cuda : backend_kind::cpu;
}

std::string_view name_of(backend_kind backend) {
  if (!plugin_under_test().empty()) return "queues";
  return backend == backend_kind::cuda ? "cuda" : "cpu";
}

fault::inject injection(fault::kind what, const any_tensor& frozen, const any_tensor& output) {
  return {
      .what = what, .target = what == kind::write_frozen ? frozen : any_tensor(), .output = output};
}

request_options options_of(fault::kind what) {
  if (what == kind::hang) return {.run_limit = hang_limit};
  return {};
}

}  // namespace troupe::gpu_test
