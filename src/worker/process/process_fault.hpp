#pragma once

#include <troupe/fault/inject.hpp>

#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace troupe::worker {

/// Where no mapping can be: the first page is never mapped.
inline constexpr std::uintptr_t address_of_nothing = 8;

/// Commits those faults that are the process's own, whatever its device: they do not return. Of any
/// other kind it does nothing.
inline void fault_process(fault::kind what) {
  switch (what) {
    case fault::kind::segmentation_fault: {
      // Volatile, so that no compiler sees where it leads.
      std::byte* volatile nowhere = reinterpret_cast<std::byte*>(address_of_nothing);
      *static_cast<volatile std::byte*>(nowhere) = std::byte{1};
      return;
    }
    case fault::kind::abort:
      std::abort();
    case fault::kind::exit:
      ::_exit(0);
    case fault::kind::kill:
      ::kill(::getpid(), SIGKILL);
      for (;;)
        ::pause();
    case fault::kind::exception:
      throw std::runtime_error("injected exception");
    case fault::kind::hang:
    case fault::kind::out_of_memory:
    case fault::kind::write_frozen:
    case fault::kind::spin:
    case fault::kind::trap:
    case fault::kind::stack_overflow:
    case fault::kind::unmapped_address:
    case fault::kind::misaligned_address:
    case fault::kind::failed_assertion:
    case fault::kind::invalid_launch:
    case fault::kind::withdraw:
      return;
  }
}

}  // namespace troupe::worker
