#include "backend/cuda/context/loading.hpp"
#include "libraries/collective/cuda/copies.hpp"

#include <troupe/collective/distribution.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

const kernel_loading pull_kernels(load_pull_kernels);
const plugin_operations distributions([](operation_table& table) {
  add_part<collective::broadcast, run_copies>(table);
  add_part<collective::all_gather, run_copies>(table);
  add_part<collective::gather, run_copies>(table);
  add_part<collective::scatter, run_copies>(table);
});

}  // namespace
}  // namespace troupe::cuda
