#include "libraries/jit/requests/launch_rules.hpp"

#include <troupe/jit/attributes.hpp>

namespace troupe::jit {

void kernel_attributes::describe(description<kernel_attributes>& d) {
  using a = kernel_attributes;
  d.about("What a kernel is, on the GPU that it was loaded on.");
  d.value("most_threads", &a::most_threads, "threads that a block may have");
  d.value("registers", &a::registers, "of a thread");
  d.value("static_shared_bytes", &a::static_shared_bytes, "of a block");
  d.value("most_dynamic_shared_bytes", &a::most_dynamic_shared_bytes, "that a launch may ask for");
  d.value("constant_bytes", &a::constant_bytes, "of the kernel");
  d.value("local_bytes", &a::local_bytes, "of a thread");
  d.value("ptx_version", &a::ptx_version, "10 · major + minor");
  d.value("binary_version", &a::binary_version, "10 · major + minor");
  d.value("cluster_x", &a::cluster_x, "that the kernel was compiled for; 0 for none");
  d.value("cluster_y", &a::cluster_y, "likewise");
  d.value("cluster_z", &a::cluster_z, "likewise");
  d.value("parameters", &a::parameters, "how many the kernel has");
  d.value("parameter_bytes", &a::parameter_bytes, "up to the end of the last one");
}

void attributes::describe(description<attributes>& d) {
  d.about("Loads a kernel and returns its properties.", "cuFuncGetAttribute, cuFuncGetParamInfo");
  d.group("kernel", &attributes::kernel);
}

void kernel_occupancy::describe(description<kernel_occupancy>& d) {
  using o = kernel_occupancy;
  d.about("How much of a kernel a GPU runs at once.");
  d.value("blocks_per_multiprocessor", &o::blocks_per_multiprocessor, "at once");
  d.value("multiprocessors", &o::multiprocessors, "of the GPU");
  d.value("best_block", &o::best_block, "threads of a block for the most threads at once");
  d.value("best_grid", &o::best_grid, "blocks of that size that fill the GPU");
  d.value("largest_cluster", &o::largest_cluster, "blocks; 0 where the GPU knows no clusters");
  d.value("clusters", &o::clusters, "of the launch's size, at once; 0 without clusters");
}

void occupancy::describe(description<occupancy>& d) {
  d.about("Asks how much of a kernel runs at once.", "cuOccupancy…");
  d.group("kernel", &occupancy::kernel);
  describe_block(d);
}

}  // namespace troupe::jit
