#include "libraries/dnn/cuda/plan/staging.hpp"

#include "backend/operation_of.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <span>

namespace troupe::cuda {
namespace {

using elementwise::value;

// The operation that maps elements. Set once, while the plugin is loaded.
operation_of<elementwise::map> run_map;
const plugin_operations finds_map([](operation_table& table) { run_map.find_in(table); });

}  // namespace

result<void> enqueue_map(const elementwise::map& r, lane& where) { return run_map(r, where); }

result<void> enqueue_copied(const any_tensor& from, const any_tensor& to, lane& where) {
  static const elementwise::function same =
      elementwise::function::of(1, [](std::span<const value> in) { return in[0]; });
  return enqueue_map({.inputs = {from}, .outputs = {to}, .what = same}, where);
}

result<void> enqueue_finite(const any_tensor& from, const any_tensor& to, lane& where) {
  static const elementwise::function finite = elementwise::function::of(
      1, [](std::span<const value> in) { return select(is_infinite(in[0]), value(0.0), in[0]); });
  return enqueue_map({.inputs = {from}, .outputs = {to}, .what = finite}, where);
}

}  // namespace troupe::cuda
