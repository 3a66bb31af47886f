#include "graph_cases.hpp"

#include <troupe/blas/level1.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/rng/continuous.hpp>

#include <cstdint>

namespace troupe::gpu_test {
namespace {

any_tensor square_of(const any_tensor& operand, std::int64_t which) {
  constexpr std::int64_t extent = 64;
  const std::int64_t begin = which * extent * extent;
  return operand.slice(0, begin, begin + extent * extent).value().reshape({extent, extent}).value();
}

constexpr graph_request recorded_scal{blas::scal::name, dtype::f32,
                                      [](graph_recorder& rec, const any_tensor& operand) {
                                        rec.add(blas::scal{.x = operand, .alpha = 2});
                                      }};
constexpr graph_request recorded_gemm{
    blas::gemm::name, dtype::f32, [](graph_recorder& rec, const any_tensor& operand) {
      rec.add(blas::gemm{
          .a = square_of(operand, 0), .b = square_of(operand, 1), .c = square_of(operand, 2)});
    }};
constexpr graph_request recorded_map{
    elementwise::map::name, dtype::f32, [](graph_recorder& rec, const any_tensor& operand) {
      static const auto twice = elementwise::function::of(1, [](auto x) { return 2 * x[0]; });
      rec.add(elementwise::map{.inputs = {operand}, .outputs = {operand}, .what = twice});
    }};
constexpr graph_request recorded_fill{memory::fill::name, dtype::f32,
                                      [](graph_recorder& rec, const any_tensor& operand) {
                                        rec.add(memory::fill{.to = operand, .value = 3});
                                      }};
constexpr graph_request recorded_uniform{
    rng::uniform::name, dtype::f32,
    [](graph_recorder& rec, const any_tensor& operand) { rec.add(rng::uniform{.to = operand}); }};

constexpr fault_case in_graphs[] = {
    {.name = "recorded_blas", .way = way::recorded, .busy = false, .recorded = &recorded_scal},
    {.name = "recorded_product", .way = way::recorded, .busy = false, .recorded = &recorded_gemm},
    {.name = "recorded_elementwise",
     .way = way::recorded,
     .busy = false,
     .recorded = &recorded_map},
    {.name = "recorded_fill", .way = way::recorded, .busy = false, .recorded = &recorded_fill},
    {.name = "recorded_rng", .way = way::recorded, .busy = false, .recorded = &recorded_uniform},
};

}  // namespace

std::span<const fault_case> cases_in_graphs() { return in_graphs; }

}  // namespace troupe::gpu_test
