#include "worker/built_in.hpp"

#include <troupe/ops/fault/inject.hpp>
#include <troupe/ops/lane/launch.hpp>
#include <troupe/ops/lane/marker.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace troupe::worker {
namespace {

// Where no mapping can be: the first page is never mapped.
std::byte* volatile nowhere = reinterpret_cast<std::byte*>(std::uintptr_t{8});

result<void> mark(const lane::marker&, lane_context&) { return {}; }

result<void> launch_nothing(const lane::launch&, lane_context&) { return {}; }

result<void> inject(const fault::inject& r, lane_context&) {
  switch (r.what) {
    case fault::kind::segmentation_fault:
      *nowhere = std::byte{1};
      break;
    case fault::kind::abort:
      std::abort();
    case fault::kind::exit:
      ::_exit(0);
    case fault::kind::kill:
      ::kill(::getpid(), SIGKILL);
      for (;;)
        ::pause();
    case fault::kind::hang:
      for (;;)
        ::pause();
    case fault::kind::out_of_memory:
      throw std::bad_alloc();
    case fault::kind::exception:
      throw std::runtime_error("injected exception");
    case fault::kind::write_frozen:
      *reinterpret_cast<volatile std::byte*>(r.target.address()) = std::byte{1};
      break;
  }
  return {};
}

}  // namespace

void add_built_in(operation_table& operations, bool fault_injection) {
  operations.add(&mark, effort::by_size);
  if (operations.find(request_type_of<lane::launch>().id) == nullptr) {
    operations.add(&launch_nothing, effort::by_size);
  }
  if (fault_injection) operations.add(&inject);
}

}  // namespace troupe::worker
